"""Runs schemathesis: it sends valid and invalid requests to every operation in `/openapi.json`, and compares the responses with
their descriptions."""

import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

URL, KEY = os.environ["TALLYBOOK_URL"], os.environ.get("TALLYBOOK_KEY")
HERE = Path(__file__).parent
HEADERS = {"Authorization": f"Bearer {KEY}"} if KEY else {}


def ask(path, body=None, method=None):
    """Sends a request, and returns the response as text."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, data, {**HEADERS, "Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=30) as response:
        return response.read().decode()


conversation = json.loads(ask("/api/conversations", {}))["uuid"]
ask(f"/api/conversations/{conversation}/messages", {"content": "use add 0.1 0.2"})
answer = json.loads(ask(f"/api/conversations/{conversation}"))["messages"][1]
there = {
    "conversations": conversation,
    "messages": answer["id"],
    "calls": answer["tool_calls"][0]["tool_call_id"],
    "models": json.loads(ask("/v1/models"))["data"][0]["id"],
}


def produce_events():
    """Renames another conversation repeatedly until the program ends, so that the event feed has events."""
    other = json.loads(ask("/api/conversations", {}))["uuid"]
    for turn in itertools.count():
        ask(f"/api/conversations/{other}", {"title": f"Title {turn}"}, "PATCH")
        time.sleep(0.5)


threading.Thread(target=produce_events, daemon=True).start()
settings = (HERE / "schemathesis.toml").read_text()
if KEY:
    settings += '\n[auth.openapi.key]\nbearer = "${TALLYBOOK_KEY}"\n'
settings += "".join(f"\n[dictionaries.{name}]\nvalues = [{json.dumps(value)}]\n" for name, value in there.items())
with tempfile.TemporaryDirectory() as folder:
    (Path(folder) / "schemathesis.toml").write_text(settings)
    command = [str(Path(sys.executable).with_name("schemathesis")), "--config-file", f"{folder}/schemathesis.toml"]
    command += ["run", f"{URL}/openapi.json", "--workers", "1"]
    sys.exit(subprocess.run(command, env={**os.environ, "PYTHONPATH": str(HERE)}, cwd=folder).returncode)
