function post(path: string, body: unknown) {
  return fetch(process.env.TALLYBOOK_URL + path, {
    method: "POST",
    headers: { Authorization: `Bearer ${process.env.TALLYBOOK_KEY}`, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
}

const { uuid } = await (await post("/api/conversations", {})).json();
const turn = await post(`/api/conversations/${uuid}/messages`, { content: "What is 0.1 + 0.2?" });
let unread = "";
for await (const text of turn.body!.pipeThrough(new TextDecoderStream())) {
  const frames = (unread + text).split("\n\n");
  unread = frames.pop()!;
  for (const frame of frames) {
    const event = /^event: (.*)$/m.exec(frame)?.[1];
    const data = JSON.parse(/^data: (.*)$/m.exec(frame)?.[1] ?? "null");
    if (event === "tool_call_start") console.log("calls", data.tool_name, data.input);
    if (event === "content_delta") process.stdout.write(data.delta);
  }
}
console.log();
