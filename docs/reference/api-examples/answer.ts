import OpenAI from "openai";

const client = new OpenAI({ baseURL: `${process.env.TALLYBOOK_URL}/v1`, apiKey: process.env.TALLYBOOK_KEY });
const models = await client.models.list();
const answer = await client.chat.completions.create({
  model: models.data[0]!.id,
  messages: [{ role: "user", content: "What is 0.1 + 0.2?" }],
});
console.log(answer.choices[0]!.message.content);
