// Tests Vercel's AI SDK, with its provider for OpenAI-compatible servers.

import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { expect, test } from "@playwright/test";
import { APICallError, generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import { count, key, model as name, newest, url } from "../tallybook.ts";

const provider = createOpenAICompatible({ name: "tallybook", baseURL: `${url}/v1`, apiKey: key, includeUsage: true });
const model = provider(name);

/** A tool that the client runs. */
const look = tool({
  description: "Looks at the weather.",
  inputSchema: z.object({ a: z.string() }),
  execute: async ({ a }) => `rain in ${a}`,
});

test("generateText returns the complete answer, whose tools ran on the server", async () => {
  const answer = await generateText({ model, prompt: "use add 0.1 0.2" });
  expect(answer.text).toContain('"result":"0.3"');
  expect(answer.finishReason).toBe("stop");
  expect(answer.toolCalls).toEqual([]);
  expect(answer.usage.totalTokens).toBeGreaterThan(0);
  expect((await newest()).messages[1]!.tool_calls[0]).toMatchObject({ tool_name: "add", output: "0.3" });
});

test("streamText returns the answer piece by piece", async () => {
  const answer = streamText({ model, prompt: "use add 0.1 0.2" });
  let text = "";
  for await (const piece of answer.textStream) text += piece;
  expect(text).toContain('"result":"0.3"');
  expect(await answer.finishReason).toBe("stop");
  expect((await answer.usage).totalTokens).toBeGreaterThan(0);
});

test("the SDK runs a client tool, streamed and not, in one conversation each", async () => {
  const before = await count();
  const asked = { model, prompt: "use look Bern", tools: { look }, stopWhen: stepCountIs(3) };
  const whole = await generateText(asked);
  expect(whole.text).toContain("The tool says: rain in Bern");
  expect(whole.steps.map((step) => step.finishReason)).toEqual(["tool-calls", "stop"]);
  const streamed = streamText(asked);
  await streamed.consumeStream();
  expect(await streamed.text).toContain("The tool says: rain in Bern");
  expect(await count()).toBe(before + 2);
});

test("a refusal is an error with the reason", async () => {
  const refused = generateText({ model: provider("gpt-9"), prompt: "hello" });
  const error = await refused.then(() => undefined, (error: unknown) => error);
  expect(APICallError.isInstance(error) && [error.statusCode, error.isRetryable]).toEqual([404, false]);
  expect(String(error)).toContain("gpt-9");
});
