import json
import os
from urllib.request import Request, urlopen

call = {"name": "add", "arguments": {"a": 0.1, "b": 0.2}}
message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
headers = {"Authorization": "Bearer " + os.environ["TALLYBOOK_KEY"], "Content-Type": "application/json"}
request = Request(os.environ["TALLYBOOK_URL"] + "/mcp", json.dumps(message).encode(), headers)
with urlopen(request) as response:
    print(json.load(response)["result"]["content"][0]["text"])
