"""What the example does not show of skills as LangChain tools. Needs SKILLBOX_URL and SKILLBOX_API_KEY."""

from __future__ import annotations

import asyncio
import json
import os
import unittest
from typing import Any, Dict

from skillbox import APIError, Client
from skillbox.langchain import SkillboxTool, SkillboxToolkit, build_skillbox_toolkit, tool_name

url, key = os.environ["SKILLBOX_URL"], os.environ["SKILLBOX_API_KEY"]
client = Client(url, key)


def push(name: str, program: str, more: str = "") -> None:
    head = f"---\nname: {name}\nversion: 1.0.0\ndescription: For tests of tools.\nlang: bash\n{more}---\nDoes things.\n"
    client.skills.push_files({"SKILL.md": head, "main.sh": program})


def as_call(name: str, args: Dict[str, Any]) -> Dict[str, Any]:
    return {"name": name, "args": args, "id": "1", "type": "tool_call"}


class Tools(unittest.TestCase):
    def test_names_are_what_every_provider_takes_and_none_stands_for_two_skills(self) -> None:
        echo = 'cp /sandbox/input.json "$SANDBOX_OUTPUT"\n'
        for name in ("same-name", "same.name", "same_name"):
            push(name, echo)
        tools = SkillboxToolkit(client=client, skills=["same_name", "same-name", "same.name"]).get_tools()
        names = [tool.name for tool in tools]
        self.assertEqual(len(set(names)), 3)
        self.assertEqual(names[0], "skillbox_same_name")
        self.assertEqual([tool.skill.name for tool in tools if isinstance(tool, SkillboxTool)], ["same-name", "same.name", "same_name"])
        for name in [*names, tool_name("a" * 128), tool_name("a" * 128, "abcdef")]:
            self.assertRegex(name, r"^[a-zA-Z0-9_]{1,64}$")

    def test_fields_may_have_any_name(self) -> None:
        push("echo", 'cp /sandbox/input.json "$SANDBOX_OUTPUT"\n')
        (tool,) = build_skillbox_toolkit(url, key, skills=["echo"])
        given = {"config": {"a": 1}, "self": 2, "run_manager": 3, "input": 4}
        self.assertEqual(json.loads(tool.invoke(as_call("x", given)).content), given)
        self.assertEqual(json.loads(asyncio.run(tool.ainvoke(as_call("x", given))).content), given)

    def test_a_skill_that_takes_no_object_gets_its_input_from_a_field(self) -> None:
        push("list", 'cp /sandbox/input.json "$SANDBOX_OUTPUT"\n', "input_schema:\n  type: array\n  items: {type: number}\n")
        (tool,) = build_skillbox_toolkit(url, key, skills=["list"])
        self.assertEqual(tool.args["input"], {"type": "array", "items": {"type": "number"}})
        self.assertEqual(tool.invoke({"input": [1, 2]}), "[1, 2]")

    def test_a_skill_that_fails_tells_the_model_why(self) -> None:
        push("fails", "echo the disk is full >&2\nexit 3\n")
        (tool,) = build_skillbox_toolkit(url, key, skills=["fails"])
        message = tool.invoke(as_call("x", {}))
        self.assertEqual(message.status, "error")
        self.assertIn("exit_nonzero", message.content)
        self.assertIn("the disk is full", message.content)

    def test_what_is_wrong_with_the_box_is_not_the_models_to_mend(self) -> None:
        (tool,) = build_skillbox_toolkit(url, key, skills=["fails"])
        client.skills.delete("fails", "1.0.0")
        with self.assertRaises(APIError):
            tool.invoke({})


if __name__ == "__main__":
    unittest.main()
