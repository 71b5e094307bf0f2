import json
import os
from urllib.request import Request, urlopen


def ask(question, thread_id=None):
    body = {"messages": [{"role": "user", "content": question}], "thread_id": thread_id}
    headers = {"Authorization": "Bearer " + os.environ["TALLYBOOK_KEY"], "Content-Type": "application/json"}
    request = Request(os.environ["TALLYBOOK_URL"] + "/v1/chat", json.dumps(body).encode(), headers)
    with urlopen(request) as response:
        return json.load(response)


first = ask("What is 0.1 + 0.2?")
print(first["message"]["content"])
for call in first["tool_calls"]:
    print(call["name"], call["parameters"], "→", call["result"])
second = ask("And 0.3 * 3?", first["thread_id"])
print(second["message"]["content"])
