"""Tests OpenAI's Agents SDK, whose agents use Tallybook's agent as a model through the Responses API: streamed and not, with a
function tool, a handoff, and history on the server. `TALLYBOOK_URL` and `TALLYBOOK_KEY` are the server and the API key. The
model `by-hand` answers `use NAME A B` with a call of that tool, `fault:NAME` with that fault, and other texts with an echo."""

import asyncio
import json
import os
import unittest
import urllib.request

import openai
from agents import Agent, ItemHelpers, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled

URL, KEY = os.environ["TALLYBOOK_URL"], os.environ["TALLYBOOK_KEY"]

set_tracing_disabled(True)


def model(name="by-hand"):
    return OpenAIResponsesModel(name, openai.AsyncOpenAI(base_url=f"{URL}/v1", api_key=KEY))


def conversations():
    """Returns the number of conversations."""
    request = urllib.request.Request(f"{URL}/api/conversations?limit=100", headers={"Authorization": f"Bearer {KEY}"})
    with urllib.request.urlopen(request, timeout=30) as response:
        return len(json.load(response)["items"])


@function_tool
def look(a: str) -> str:
    """Looks at the weather."""
    return f"rain in {a}"


def agent(**more):
    return Agent("Weather", instructions="Be brief.", model=model(), tools=[look], **more)


def kinds(result):
    return [item.type for item in result.new_items]


class Agents(unittest.TestCase):
    def test_server_tools_run_on_the_server_and_are_not_calls_of_the_agent(self):
        result = Runner.run_sync(agent(), "use add 0.1 0.2")
        self.assertIn('"result":"0.3"', result.final_output)
        self.assertEqual(kinds(result), ["message_output_item"])
        self.assertGreater(result.raw_responses[0].usage.total_tokens, 0)

    def test_a_function_tool_is_called_and_its_result_accepted(self):
        before = conversations()
        result = Runner.run_sync(agent(), "use look Bern")
        self.assertIn("The tool says: rain in Bern", result.final_output)
        self.assertEqual(kinds(result)[-3:], ["tool_call_item", "tool_call_output_item", "message_output_item"])
        self.assertEqual(conversations(), before + 1)

    def test_the_client_can_send_the_history_again(self):
        first = Runner.run_sync(agent(), "use look Bern")
        second = Runner.run_sync(agent(), [*first.to_input_list(), {"role": "user", "content": "hello"}])
        self.assertEqual(second.final_output, "You said: hello")

    def test_the_server_can_keep_the_history(self):
        before = conversations()
        first = Runner.run_sync(agent(), "use look Bern", auto_previous_response_id=True)
        self.assertIn("The tool says: rain in Bern", first.final_output)
        second = Runner.run_sync(agent(), "use look Rome", previous_response_id=first.last_response_id)
        self.assertIn("The tool says: rain in Rome", second.final_output)
        self.assertEqual(conversations(), before + 1)

    def test_an_agent_streams(self):
        async def run():
            result = Runner.run_streamed(agent(), "use look Bern")
            said = ""
            async for event in result.stream_events():
                if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                    said += event.data.delta
            return result, said

        result, said = asyncio.run(run())
        self.assertIn("The tool says: rain in Bern", said)
        self.assertEqual(ItemHelpers.text_message_output(result.new_items[-1]), result.final_output)

    def test_an_agent_hands_over_to_another(self):
        other = Agent("Other", model=model(), handoff_description="Knows more.")
        result = Runner.run_sync(agent(handoffs=[other]), "use transfer_to_other")
        self.assertEqual(result.last_agent.name, "Other")
        self.assertIn("The tool says", result.final_output)

    def test_a_refusal_is_an_error_with_the_reason(self):
        with self.assertRaises(openai.NotFoundError) as refused:
            Runner.run_sync(Agent("None", model=model("gpt-9")), "hello")
        self.assertIn("gpt-9", str(refused.exception))
        with self.assertRaises(openai.BadRequestError) as unknown:
            Runner.run_sync(agent(), "hello", previous_response_id="resp_999999999")
        self.assertEqual(unknown.exception.code, "previous_response_not_found")


if __name__ == "__main__":
    unittest.main(verbosity=2)
