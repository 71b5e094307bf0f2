curl -sS "$TALLYBOOK_URL/mcp" \
  -H "Authorization: Bearer $TALLYBOOK_KEY" \
  --json '{
    "jsonrpc": "2.0", "id": 1, "method": "tools/call",
    "params": {"name": "add", "arguments": {"a": 0.1, "b": 0.2}}
  }'
