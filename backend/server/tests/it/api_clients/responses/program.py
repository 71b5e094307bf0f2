"""Uses the Responses API through OpenAI's official Python SDK: complete responses, streams, a client tool, continued responses
and errors. Takes the base URL as its argument. Prints "in silence" at the first keep-alive, and the results as one JSON
object."""

import json
import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1], api_key="anything")
question = "What is 0.1 + 0.2?"
results = {}

whole = client.responses.create(model="test-model", input=question, instructions="Be brief.")
results["whole"] = [whole.output_text, whole.status, whole.usage.total_tokens]

results["stream"], results["keep_alives"] = "", 0
with client.responses.stream(model="test-model", input=question) as stream:
    for event in stream:
        if event.type == "response.output_text.delta":
            results["stream"] += event.delta
        if event.type == "response.in_progress":
            # Every stream starts with one of these.
            if results["stream"] and results["keep_alives"] == 0:
                print("in silence", flush=True)
            results["keep_alives"] += 1 if results["stream"] else 0
    final = stream.get_final_response()
results["final"] = [final.output_text, final.usage.total_tokens]

look = {"type": "function", "name": "look", "strict": True, "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}}
handed = client.responses.create(model="test-model", input=question, tools=[look])
call = handed.output[-1]
results["handed"] = [call.type, call.name, json.loads(call.arguments)]
result = {"type": "function_call_output", "call_id": call.call_id, "output": "rain"}
results["streamed_call"] = []
with client.responses.stream(
    model="test-model", input=[result], previous_response_id=handed.id, tools=[look]
) as stream:
    for event in stream:
        if event.type == "response.function_call_arguments.done":
            results["streamed_call"].append([event.name, event.arguments])
    again = stream.get_final_response()
result = {"type": "function_call_output", "call_id": again.output[-1].call_id, "output": "snow"}
last = client.responses.create(model="test-model", input=[result], previous_response_id=again.id, tools=[look])
results["resumed"] = [last.output_text, last.previous_response_id == again.id]
results["retrieved"] = client.responses.retrieve(last.id).output_text
client.responses.delete(last.id)
try:
    client.responses.create(model="test-model", input="And?", previous_response_id=last.id)
except openai.BadRequestError as error:
    results["deleted"] = [error.code, error.param]

try:
    client.responses.create(model="gpt-9", input=question)
except openai.NotFoundError as error:
    results["unknown"] = [error.status_code, error.code, error.param]

try:
    client.responses.create(model="test-model", input=question)
except openai.APIStatusError as error:
    results["failed"] = [error.status_code, error.code]

for event in client.responses.create(model="test-model", input=question, stream=True):
    if event.type == "response.failed":
        results["aborted"] = [event.response.output_text, event.response.status, event.response.error.code]

print(json.dumps(results))
