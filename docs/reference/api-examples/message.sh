key="Authorization: Bearer $TALLYBOOK_KEY"
made=$(curl -sS "$TALLYBOOK_URL/api/conversations" -H "$key" --json '{}')
uuid=$(echo "$made" | sed 's/.*"uuid":"\([^"]*\)".*/\1/')
curl -sSN "$TALLYBOOK_URL/api/conversations/$uuid/messages" -H "$key" \
  --json '{"content": "What is 0.1 + 0.2?"}'
