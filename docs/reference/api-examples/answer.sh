curl -sS "$TALLYBOOK_URL/v1/chat/completions" \
  -H "Authorization: Bearer $TALLYBOOK_KEY" \
  --json '{"messages": [{"role": "user", "content": "What is 0.1 + 0.2?"}]}'
