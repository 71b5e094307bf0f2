// Tests OpenAI's official Node.js SDK, which uses the agent as a model.

import { expect, test } from "@playwright/test";
import OpenAI from "openai";
import { count, key, model, newest, url } from "../tallybook.ts";

/** HTTP status of each response, in order. The SDK reports only the last one. */
let statuses: number[] = [];

/** Called with the status when a response's headers have arrived, before the SDK sees the response. */
let onAnswer = (_status: number) => {};

const client = new OpenAI({
  baseURL: `${url}/v1`,
  apiKey: key,
  fetch: async (input, init) => {
    const response = await fetch(input, init);
    statuses.push(response.status);
    onAnswer(response.status);
    return response;
  },
});

test.beforeEach(() => {
  statuses = [];
  onAnswer = () => {};
});

/** Returns the parameters of a request with one question. */
function ask(content: string): { model: string; messages: OpenAI.ChatCompletionMessageParam[] } {
  return { model, messages: [{ role: "user", content }] };
}

/** Returns the API error that `work` fails with. Throws if it succeeds or fails differently. */
async function failure(work: PromiseLike<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  const error = await Promise.resolve(work).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (error instanceof OpenAI.APIError) return error;
  throw new Error(`no error of the SDK's: ${error}`);
}

test("models are listed and found", async () => {
  const names: string[] = [];
  for await (const { id } of client.models.list()) names.push(id);
  expect(names).toEqual([model, `${model}:plain`]);
  expect((await client.models.retrieve(`${model}:plain`)).id).toBe(`${model}:plain`);
});

test("a complete answer, whose tools ran on the server", async () => {
  const answer = await client.chat.completions.create(ask("use add 0.1 0.2"));
  expect(answer.choices).toHaveLength(1);
  expect(answer.choices[0]).toMatchObject({ finish_reason: "stop", message: { role: "assistant" } });
  expect(answer.choices[0]!.message.content).toContain('"result":"0.3"');
  expect(answer.choices[0]!.message.tool_calls).toBeUndefined();
  expect(answer.usage!.total_tokens).toBeGreaterThan(0);
  const [call] = (await newest()).messages[1]!.tool_calls;
  expect(call).toMatchObject({ tool_name: "add", status: "success", output: "0.3" });
});

test("a streamed answer, with its token usage", async () => {
  const stream = client.chat.completions.stream({ ...ask("use add 0.1 0.2"), stream_options: { include_usage: true } });
  let text = "";
  stream.on("content", (delta) => (text += delta));
  const answer = await stream.finalChatCompletion();
  expect(text).toContain('"result":"0.3"');
  expect(answer.choices[0]!.message.content).toBe(text);
  expect(answer.choices[0]!.finish_reason).toBe("stop");
  expect(answer.usage!.total_tokens).toBeGreaterThan(0);
});

/** A tool that the client runs. */
const look = {
  type: "function" as const,
  function: {
    name: "look",
    description: "Looks at the weather.",
    parameters: { type: "object", properties: { a: { type: "string" } } },
    parse: JSON.parse,
    function: async ({ a }: { a: string }) => `rain in ${a}`,
  },
};

test("the SDK runs a client tool, streamed and not", async () => {
  const before = await count();
  const whole = client.chat.completions.runTools({ ...ask("use look Bern"), tools: [look] });
  expect(await whole.finalContent()).toContain("The tool says: rain in Bern");
  const streamed = client.chat.completions.runTools({ ...ask("use look Bern"), tools: [look], stream: true });
  expect(await streamed.finalContent()).toContain("The tool says: rain in Bern");
  expect(statuses).toEqual([200, 200, 200, 200]);
  // A request with a tool's result continues the same conversation. The call is the client's, so Tallybook records none.
  expect(await count()).toBe(before + 2);
  expect((await newest()).messages.flatMap((message) => message.tool_calls ?? [])).toEqual([]);
});

test("refusals have the SDK's error classes and are not retried", async () => {
  const create = (changes: object) => failure(client.chat.completions.create({ ...ask("hello"), ...changes }));
  const unknown = await create({ model: "gpt-9" });
  expect(unknown).toBeInstanceOf(OpenAI.NotFoundError);
  expect(unknown).toMatchObject({ status: 404, code: "model_not_found", param: "model" });
  const bad = await create({ n: 2 });
  expect(bad).toBeInstanceOf(OpenAI.BadRequestError);
  expect(bad).toMatchObject({ param: "n", type: "invalid_request_error" });
  const stranger = new OpenAI({ baseURL: `${url}/v1`, apiKey: "tb_made_up" });
  const refused = await failure(stranger.chat.completions.create(ask("hello")));
  expect(refused).toBeInstanceOf(OpenAI.AuthenticationError);
  expect(refused.message).toMatch(/key/i);
  expect(statuses).toEqual([404, 400]);
});

test("a failed answer is not retried once its question is stored", async () => {
  const before = await count();
  const error = await failure(client.chat.completions.create(ask("fault:server_error")));
  expect(error).toBeInstanceOf(OpenAI.InternalServerError);
  expect(error.headers!.get("x-should-retry")).toBe("false");
  expect(statuses).toEqual([502]);
  expect(await count()).toBe(before + 1);
});

test("a server error is retried if nothing is stored", async () => {
  const before = await count();
  const error = await failure(client.chat.completions.create({ ...ask("fault:server_error"), model: `${model}:plain` }));
  expect(error).toBeInstanceOf(OpenAI.InternalServerError);
  expect(statuses).toEqual([502, 502, 502]);
  expect(await count()).toBe(before);
});

test("an incomplete answer is an error with the text so far", async () => {
  let text = "";
  const read = async () => {
    for await (const chunk of await client.chat.completions.create({ ...ask("fault:cut"), stream: true })) {
      text += chunk.choices[0]?.delta.content ?? "";
    }
  };
  const error = await failure(read());
  expect(error.code).toBe("model_bad_stream");
  expect(text).not.toBe("");
});

/** Starts an answer that never ends. */
async function hang() {
  const stream = await client.chat.completions.create({ ...ask("fault:hang"), stream: true });
  const first = await stream[Symbol.asyncIterator]().next();
  expect(first.done).toBe(false);
  return stream;
}

test("disconnecting stops the turn", async () => {
  const stream = await hang();
  expect((await newest()).messages[1]!.status).toBe("streaming");
  stream.controller.abort();
  await expect.poll(async () => (await newest()).messages[1]!.status).toBe("stopped");
});

test("too many concurrent answers are a 429, which is retried until it succeeds", async () => {
  // The maximum number of concurrent turns per user.
  const running = await Promise.all([hang(), hang(), hang(), hang()]);
  onAnswer = (status) => {
    if (status === 429) running.forEach((stream) => stream.controller.abort());
  };
  const answer = await client.chat.completions.create(ask("hello"), { maxRetries: 5 });
  expect(answer.choices[0]!.message.content).toBe("You said: hello");
  expect(statuses.slice(4, 6)[0]).toBe(429);
  expect(statuses.at(-1)).toBe(200);
});
