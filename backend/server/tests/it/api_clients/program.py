"""Uses the agent as a model through OpenAI's official Python SDK: complete answers, streams, client tools and errors.
Takes the base URL as its argument. Prints "in silence" at the first keep-alive, and the results as one JSON object."""

import json
import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1], api_key="anything")
asked = [{"role": "user", "content": "What is 0.1 + 0.2?"}]
results = {"models": [model.id for model in client.models.list()]}

whole = client.chat.completions.create(model="test-model", messages=asked)
results["whole"] = [whole.choices[0].message.content, whole.choices[0].finish_reason, whole.usage.total_tokens]

options = {"include_usage": True}
stream = client.chat.completions.create(model="test-model", messages=asked, stream=True, stream_options=options)
results["stream"], results["keep_alives"], results["usage"] = "", 0, None
for chunk in stream:
    for choice in chunk.choices:
        results["stream"] += choice.delta.content or ""
        if choice.delta.content is None and choice.finish_reason is None:
            if results["keep_alives"] == 0:
                print("in silence", flush=True)
            results["keep_alives"] += 1
    if chunk.usage:
        results["usage"] = chunk.usage.total_tokens

look = {"name": "look", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
tools = [{"type": "function", "function": look}]
handed = client.chat.completions.create(model="test-model", messages=asked, tools=tools).choices[0]
call = handed.message.tool_calls[0]
results["handed"] = [handed.finish_reason, handed.message.content, call.function.name, json.loads(call.function.arguments)]
result = {"role": "tool", "tool_call_id": call.id, "content": "rain"}
messages = [*asked, handed.message, result]
results["streamed_call"], results["arguments"] = None, ""
for chunk in client.chat.completions.create(model="test-model", messages=messages, tools=tools, stream=True):
    for delta in chunk.choices[0].delta.tool_calls or []:
        results["streamed_call"] = results["streamed_call"] or delta.function.name
        results["arguments"] += delta.function.arguments or ""

try:
    client.chat.completions.create(model="gpt-9", messages=asked)
except openai.NotFoundError as error:
    results["unknown"] = [error.status_code, error.code, error.param]

try:
    client.chat.completions.create(model="test-model", messages=asked)
except openai.APIStatusError as error:
    results["failed"] = [error.status_code, error.code]

results["late"] = ""
try:
    for chunk in client.chat.completions.create(model="test-model", messages=asked, stream=True):
        results["late"] += chunk.choices[0].delta.content or ""
except openai.APIError as error:
    results["aborted"] = error.code

print(json.dumps(results))
