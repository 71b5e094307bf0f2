"""LangChain's ChatOpenAI, which takes the agent for a model: asked whole and as a stream, with a tool of its own, and as the
model of an agent of LangChain's."""

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
    """How many there are."""
    request = urllib.request.Request(f"{URL}/api/conversations?limit=100", headers={"Authorization": f"Bearer {KEY}"})
    with urllib.request.urlopen(request, timeout=30) as response:
        return len(json.load(response)["items"])


@tool
def look(a: str) -> str:
    """Looks at the weather."""
    return f"rain in {a}"


class LangChain(unittest.TestCase):
    def test_invoke_gives_the_whole_answer(self):
        answer = model().invoke("use add 0.1 0.2")
        self.assertIn('"result":"0.3"', answer.text)
        self.assertEqual(answer.response_metadata["finish_reason"], "stop")
        self.assertEqual(answer.tool_calls, [])
        self.assertGreater(answer.usage_metadata["total_tokens"], 0)

    def test_stream_gives_it_as_it_comes(self):
        chunks = list(model().stream("use add 0.1 0.2", stream_usage=True))
        self.assertIn('"result":"0.3"', "".join(chunk.text for chunk in chunks))
        self.assertGreater(len([chunk for chunk in chunks if chunk.text]), 1)
        self.assertGreater(sum(chunk.usage_metadata["total_tokens"] for chunk in chunks if chunk.usage_metadata), 0)

    def test_a_bound_tool_is_called_and_its_result_taken(self):
        before = conversations()
        asked = [HumanMessage("use look Bern")]
        bound = model().bind_tools([look])
        called = bound.invoke(asked)
        self.assertEqual([(call["name"], call["args"]) for call in called.tool_calls], [("look", {"a": "Bern"})])
        call = called.tool_calls[0]
        result = ToolMessage(look.invoke(call["args"]), tool_call_id=call["id"])
        self.assertIn("The tool says: rain in Bern", bound.invoke([*asked, called, result]).text)
        # With its result the answer goes on where it was.
        self.assertEqual(conversations(), before + 1)

    def test_it_is_the_model_of_an_agent(self):
        agent = create_agent(model(), tools=[look])
        messages = agent.invoke({"messages": [HumanMessage("use look Bern")]})["messages"]
        self.assertEqual([message.type for message in messages], ["human", "ai", "tool", "ai"])
        self.assertIn("The tool says: rain in Bern", messages[-1].text)

    def test_an_agent_streams(self):
        agent = create_agent(model(), tools=[look])
        asked = {"messages": [HumanMessage("use look Bern")]}
        pieces = [piece.text for piece, _ in agent.stream(asked, stream_mode="messages") if piece.type == "AIMessageChunk"]
        self.assertIn("The tool says: rain in Bern", "".join(pieces))

    def test_what_is_refused_is_an_error_that_says_why(self):
        with self.assertRaises(openai.NotFoundError) as refused:
            model("gpt-9").invoke("hello")
        self.assertIn("gpt-9", str(refused.exception))


if __name__ == "__main__":
    unittest.main(verbosity=2)
