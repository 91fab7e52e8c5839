"""Skills as LangChain tools, each typed by its own schema. Needs langchain-core; the SDK itself needs nothing.

    from skillbox.langchain import build_skillbox_toolkit

    tools = build_skillbox_toolkit("http://localhost:8080", "sk-your-key")
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from typing import Any, Dict, List, Optional, Sequence, Tuple

from langchain_core.tools import BaseTool, BaseToolkit, ToolException
from pydantic import ConfigDict

from skillbox import APIError, Client, Execution, Skill

#: What model providers take as the name of a tool.
_longest_name = 64


class SkillboxTool(BaseTool):
    """One skill. Its answer is the output of the skill as JSON, with the record of the execution as the artifact of the message.

    A skill that fails tells the model why, so that it can do better; what is wrong with the box is raised.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    client: Client
    skill: Skill
    response_format: Any = "content_and_artifact"
    handle_tool_error: Any = True

    @classmethod
    def of(cls, client: Client, skill: Skill, name: Optional[str] = None) -> "SkillboxTool":
        return cls(client=client, skill=skill, name=name or tool_name(skill.name), description=_description(skill), args_schema=_schema(skill))

    def _run(self, /, *args: Any, **given: Any) -> Tuple[str, Optional[Execution]]:
        if self.skill.mode == "cognitive":
            return self.skill.instructions, None
        input = given if _is_object(self.skill.input_schema) else given.get("input")
        try:
            result = self.client.run(self.skill.name, input=input, version=self.skill.version)
        except APIError as refusal:
            if refusal.code != "invalid_input":
                raise
            raise ToolException(refusal.message) from refusal
        if result.status == "success":
            return _content(result), result
        error = result.error
        raise ToolException(f"{error.code if error else result.status}: {error.message if error else ''}\n{result.logs[-2000:]}".strip())

    async def _arun(self, /, *args: Any, **given: Any) -> Tuple[str, Optional[Execution]]:
        return await asyncio.to_thread(self._run, *args, **given)


class SkillboxToolkit(BaseToolkit):
    """All skills of a box that a key sees, or those that are named."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    client: Client
    skills: Optional[Sequence[str]] = None

    def get_tools(self) -> List[BaseTool]:
        names = sorted(self.skills if self.skills is not None else (skill.name for skill in self.client.list_skills()))
        taken: Dict[str, str] = {}
        tools: List[BaseTool] = []
        for name in names:
            called = tool_name(name)
            # Two skills whose names differ only in what a tool's name cannot hold: the second says which it is.
            if called in taken:
                called = tool_name(name, hashlib.sha256(name.encode()).hexdigest()[:6])
            taken[called] = name
            tools.append(SkillboxTool.of(self.client, self.client.get_skill(name), called))
        return tools


def build_skillbox_toolkit(
    url: str, key: str, *, tenant_id: Optional[str] = None, skills: Optional[Sequence[str]] = None
) -> List[BaseTool]:
    """A tool for each skill, for create_react_agent, bind_tools and whatever else takes tools."""
    return SkillboxToolkit(client=Client(url, key, tenant_id=tenant_id), skills=skills).get_tools()


def tool_name(skill: str, mark: str = "") -> str:
    """skillbox_data_analysis for data-analysis."""
    ending = f"_{mark}" if mark else ""
    plain = re.sub(r"[^a-zA-Z0-9_]", "_", f"skillbox_{skill}")
    return plain[: _longest_name - len(ending)] + ending


def _description(skill: Skill) -> str:
    return skill.description if skill.mode == "executable" else f"{skill.description}\n\nGives instructions to follow; it does not run anything."


def _is_object(schema: Optional[Dict[str, Any]]) -> bool:
    return schema is None or schema.get("type") == "object" or "properties" in schema


def _schema(skill: Skill) -> Dict[str, Any]:
    """Models give an object; a skill that takes something else gets it from a field."""
    if skill.mode == "cognitive":
        return {"type": "object", "properties": {}}
    schema = skill.input_schema
    if schema is None:
        return {"type": "object", "properties": {}, "additionalProperties": True}
    if _is_object(schema):
        return {"properties": {}, **schema, "type": "object"}
    return {"type": "object", "properties": {"input": schema}, "required": ["input"]}


def _content(result: Execution) -> str:
    if not result.has_files:
        return json.dumps(result.output, ensure_ascii=False)
    files = [file.path for file in result.files_list]
    return json.dumps({"output": result.output, "files": files}, ensure_ascii=False)
