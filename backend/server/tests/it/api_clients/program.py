"""Uses the agent as a model through OpenAI's official Python SDK: complete answers, streams, client tools and errors.
Takes the base URL as its argument. Prints "in silence" at the first keep-alive, and the results as one JSON object."""

import json
import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1], api_key="anything")
asked = [{"role": "user", "content": "What is 0.1 + 0.2?"}]
told = {"models": [model.id for model in client.models.list()]}

whole = client.chat.completions.create(model="test-model", messages=asked)
told["whole"] = [whole.choices[0].message.content, whole.choices[0].finish_reason, whole.usage.total_tokens]

options = {"include_usage": True}
stream = client.chat.completions.create(model="test-model", messages=asked, stream=True, stream_options=options)
told["stream"], told["signs_of_life"], told["usage"] = "", 0, None
for chunk in stream:
    for choice in chunk.choices:
        told["stream"] += choice.delta.content or ""
        if choice.delta.content is None and choice.finish_reason is None:
            if told["signs_of_life"] == 0:
                print("in silence", flush=True)
            told["signs_of_life"] += 1
    if chunk.usage:
        told["usage"] = chunk.usage.total_tokens

look = {"name": "look", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
tools = [{"type": "function", "function": look}]
handed = client.chat.completions.create(model="test-model", messages=asked, tools=tools).choices[0]
call = handed.message.tool_calls[0]
told["handed"] = [handed.finish_reason, handed.message.content, call.function.name, json.loads(call.function.arguments)]
result = {"role": "tool", "tool_call_id": call.id, "content": "rain"}
messages = [*asked, handed.message, result]
told["streamed_call"], told["arguments"] = None, ""
for chunk in client.chat.completions.create(model="test-model", messages=messages, tools=tools, stream=True):
    for delta in chunk.choices[0].delta.tool_calls or []:
        told["streamed_call"] = told["streamed_call"] or delta.function.name
        told["arguments"] += delta.function.arguments or ""

try:
    client.chat.completions.create(model="gpt-9", messages=asked)
except openai.NotFoundError as error:
    told["unknown"] = [error.status_code, error.code, error.param]

try:
    client.chat.completions.create(model="test-model", messages=asked)
except openai.APIStatusError as error:
    told["failed"] = [error.status_code, error.code]

told["late"] = ""
try:
    for chunk in client.chat.completions.create(model="test-model", messages=asked, stream=True):
        told["late"] += chunk.choices[0].delta.content or ""
except openai.APIError as error:
    told["broken_off"] = error.code

print(json.dumps(told))
