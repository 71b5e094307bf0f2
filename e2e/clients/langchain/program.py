"""Tests LangChain's ChatOpenAI, which uses the agent as a model: streamed and not, with a client tool, and as the model of a
LangChain agent."""

import json
import os
import unittest
import urllib.request

import openai
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

URL, KEY = os.environ["TALLYBOOK_URL"], os.environ["TALLYBOOK_KEY"]


def model(name="by-hand"):
    return ChatOpenAI(model=name, base_url=f"{URL}/v1", api_key=KEY)


def conversations():
    """Returns the number of conversations."""
    request = urllib.request.Request(f"{URL}/api/conversations?limit=100", headers={"Authorization": f"Bearer {KEY}"})
    with urllib.request.urlopen(request, timeout=30) as response:
        return len(json.load(response)["items"])


@tool
def look(a: str) -> str:
    """Looks at the weather."""
    return f"rain in {a}"


class LangChain(unittest.TestCase):
    def test_invoke_returns_the_complete_answer(self):
        answer = model().invoke("use add 0.1 0.2")
        self.assertIn('"result":"0.3"', answer.text)
        self.assertEqual(answer.response_metadata["finish_reason"], "stop")
        self.assertEqual(answer.tool_calls, [])
        self.assertGreater(answer.usage_metadata["total_tokens"], 0)

    def test_stream_returns_the_answer_piece_by_piece(self):
        chunks = list(model().stream("use add 0.1 0.2", stream_usage=True))
        self.assertIn('"result":"0.3"', "".join(chunk.text for chunk in chunks))
        self.assertGreater(len([chunk for chunk in chunks if chunk.text]), 1)
        self.assertGreater(sum(chunk.usage_metadata["total_tokens"] for chunk in chunks if chunk.usage_metadata), 0)

    def test_a_bound_tool_is_called_and_its_result_accepted(self):
        before = conversations()
        asked = [HumanMessage("use look Bern")]
        bound = model().bind_tools([look])
        called = bound.invoke(asked)
        self.assertEqual([(call["name"], call["args"]) for call in called.tool_calls], [("look", {"a": "Bern"})])
        call = called.tool_calls[0]
        result = ToolMessage(look.invoke(call["args"]), tool_call_id=call["id"])
        self.assertIn("The tool says: rain in Bern", bound.invoke([*asked, called, result]).text)
        # The result continues the answer in the same conversation.
        self.assertEqual(conversations(), before + 1)

    def test_an_agent_uses_the_model(self):
        agent = create_agent(model(), tools=[look])
        messages = agent.invoke({"messages": [HumanMessage("use look Bern")]})["messages"]
        self.assertEqual([message.type for message in messages], ["human", "ai", "tool", "ai"])
        self.assertIn("The tool says: rain in Bern", messages[-1].text)

    def test_an_agent_streams(self):
        agent = create_agent(model(), tools=[look])
        asked = {"messages": [HumanMessage("use look Bern")]}
        pieces = [piece.text for piece, _ in agent.stream(asked, stream_mode="messages") if piece.type == "AIMessageChunk"]
        self.assertIn("The tool says: rain in Bern", "".join(pieces))

    def test_a_refusal_is_an_error_with_the_reason(self):
        with self.assertRaises(openai.NotFoundError) as refused:
            model("gpt-9").invoke("hello")
        self.assertIn("gpt-9", str(refused.exception))


if __name__ == "__main__":
    unittest.main(verbosity=2)
