"""A LangChain agent whose tools are the skills of a box. The model is scripted, so that this runs offline and checks itself;
put ChatAnthropic(model="...") or another chat model in its place and nothing else changes."""

import json
import os
import warnings
from typing import Any, List

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.prebuilt import create_react_agent

from skillbox import Client
from skillbox.langchain import build_skillbox_toolkit

warnings.filterwarnings("ignore", message="create_react_agent has been moved")

url, key = os.environ["SKILLBOX_URL"], os.environ["SKILLBOX_API_KEY"]
examples = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
box = Client(url, key)
for name in ("data-analysis", "word-counter"):
    box.register_skill(os.path.join(examples, "skills", name))
box.skills.push_files(
    {
        "SKILL.md": "---\nname: house-style\nversion: 1.0.0\ndescription: How we write reports.\nmode: cognitive\n---\nSay the mean first.\n",
    }
)

# Build tools from all registered skills
tools = build_skillbox_toolkit(url, key)
by_name = {tool.name: tool for tool in tools}
assert {"skillbox_data_analysis", "skillbox_word_counter", "skillbox_house_style"} <= set(by_name), sorted(by_name)
assert by_name["skillbox_word_counter"].args["text"]["type"] == "string", "typed by the schema of the skill"


class Scripted(GenericFakeChatModel):
    """Says what it is told to, one message after the other, and remembers which tools it was given."""

    given: List[Any] = []

    def bind_tools(self, tools: Any, **more: Any) -> Any:
        self.given.extend(tools)
        return self


def calls(tool: str, **args: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": tool, "args": args, "id": f"call-{tool}", "type": "tool_call"}])


model = Scripted(
    messages=iter(
        [
            calls("skillbox_house_style"),
            calls("skillbox_data_analysis", csv="name,age\nAlice,30\nBob,25", title="Ages"),
            calls("skillbox_word_counter", text=7),  # Not what its schema says: the model is told, and corrects itself.
            calls("skillbox_word_counter", text="Alice and Bob and Carol"),
            AIMessage("The mean age is 27.5."),
        ]
    )
)

# Agent sees tools like skillbox_data_analysis, reads their descriptions,
# picks the right one, calls it with structured input, gets structured output
agent = create_react_agent(model, tools)
result = agent.invoke({"messages": [{"role": "user", "content": "Analyze this data: name,age\nAlice,30\nBob,25"}]})

answers = [message for message in result["messages"] if isinstance(message, ToolMessage)]
for message in answers:
    print(f"{message.name}: {message.content[:100]}")
print(result["messages"][-1].content)

house_style, analysis, refusal, words = answers
assert {tool.name for tool in model.given} == set(by_name)
assert house_style.content == "Say the mean first."
assert "27.5" in analysis.content and json.loads(analysis.content)["files"] == ["chart.svg"]
assert analysis.artifact.status == "success", "the record of the execution comes along"
assert refusal.status == "error" and "/text" in refusal.content
assert json.loads(words.content)["total_words"] == 5
assert result["messages"][-1].content == "The mean age is 27.5."
