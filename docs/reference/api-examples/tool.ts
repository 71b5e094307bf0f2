const call = { name: "add", arguments: { a: 0.1, b: 0.2 } };
const response = await fetch(`${process.env.TALLYBOOK_URL}/mcp`, {
  method: "POST",
  headers: { Authorization: `Bearer ${process.env.TALLYBOOK_KEY}`, "Content-Type": "application/json" },
  body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: call }),
});
const { result } = await response.json();
console.log(result.content[0].text);
