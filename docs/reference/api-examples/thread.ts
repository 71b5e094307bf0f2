async function ask(question: string, threadId?: string) {
  const response = await fetch(`${process.env.TALLYBOOK_URL}/v1/chat`, {
    method: "POST",
    headers: { Authorization: `Bearer ${process.env.TALLYBOOK_KEY}`, "Content-Type": "application/json" },
    body: JSON.stringify({ messages: [{ role: "user", content: question }], thread_id: threadId }),
  });
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

const first = await ask("What is 0.1 + 0.2?");
console.log(first.message.content);
for (const call of first.tool_calls) console.log(call.name, call.parameters, "→", call.result);
const second = await ask("And 0.3 * 3?", first.thread_id);
console.log(second.message.content);
