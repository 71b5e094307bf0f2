"""Uses Tallybook as an MCP server through the official Python SDK of MCP. Takes the address as its argument, and prints the
results as one JSON object."""

import asyncio
import json
import sys

from mcp import Client


async def main():
    async with Client(sys.argv[1]) as client:
        listed = await client.list_tools()
        total = await client.call_tool("add", {"a": "0.1", "b": "0.2"})
        failed = await client.call_tool("divide", {"a": 1, "b": 0})
        found = await client.call_tool("search_tool_calls", {"filter": "tool:add"})
        calls = json.loads(found.content[0].text)["tool_calls"]
        print(json.dumps({
            "has_add": "add" in [tool.name for tool in listed.tools],
            "sum": total.content[0].text,
            "failed": failed.is_error,
            "found": [call["tool"] for call in calls],
        }))


asyncio.run(main())
