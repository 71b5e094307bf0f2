curl -sSN "$TALLYBOOK_URL/v1/chat/completions" \
  -H "Authorization: Bearer $TALLYBOOK_KEY" \
  --json '{"stream": true, "messages": [{"role": "user", "content": "What is 0.1 + 0.2?"}]}'
