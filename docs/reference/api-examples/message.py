import json
import os
from urllib.request import Request, urlopen


def post(path, body):
    headers = {"Authorization": "Bearer " + os.environ["TALLYBOOK_KEY"], "Content-Type": "application/json"}
    return urlopen(Request(os.environ["TALLYBOOK_URL"] + path, json.dumps(body).encode(), headers))


uuid = json.load(post("/api/conversations", {}))["uuid"]
event = None
for line in post(f"/api/conversations/{uuid}/messages", {"content": "What is 0.1 + 0.2?"}):
    field, _, value = line.decode().rstrip("\n").partition(": ")
    if field == "event":
        event = value
    elif field == "data" and event == "tool_call_start":
        call = json.loads(value)
        print("calls", call["tool_name"], call["input"])
    elif field == "data" and event == "content_delta":
        print(json.loads(value)["delta"], end="", flush=True)
print()
