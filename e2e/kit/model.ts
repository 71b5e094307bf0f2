// A model server that returns answers written by the test, in OpenAI's streaming format.

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** A tool call that the model requests. The input need not be valid JSON. */
export interface Wanted {
  tool: string;
  input: string;
}

/** A piece of the reasoning that the model shows. */
export interface Thought {
  thought: string;
}

type Piece = string | Wanted | Thought;

/** Pieces of an answer in order: text, reasoning and tool calls. Each is sent when the test yields it. */
export type Pieces = Iterable<Piece> | AsyncIterable<Piece>;

/** A model server. Each request takes the next answer from the queue. If the queue is empty, the answer is a text that says so. */
export interface ScriptedModel {
  url: string;
  /** Adds an answer to the queue. */
  answer(pieces: Pieces): void;
  /** Returns the body of the last request. */
  lastRequest(): string;
  stop(): Promise<void>;
}

/** Token usage that every answer reports. */
export const USAGE = { prompt_tokens: 1200, completion_tokens: 34 };

/** Creates a gate that holds an answer back until the test opens it. */
export function gate(): { opened: Promise<void>; open: () => void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** Settings of a model server. */
export interface ModelServerOptions {
  /** The only API key that the server accepts. Any key if undefined. */
  key?: string;
  /** The models that the server lists. */
  offers?: object[];
}

export async function startModel({ key, offers = [] }: ModelServerOptions = {}): Promise<ScriptedModel> {
  const answers: Pieces[] = [];
  let last = "";
  const server = createServer((request, response) => {
    if (key !== undefined && request.headers.authorization !== `Bearer ${key}`) {
      response.writeHead(401, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message: "Incorrect API key provided." } }));
      return;
    }
    if (request.method === "GET") {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ object: "list", data: offers }));
      return;
    }
    // A test that ends closes connections in the middle of an answer, which is not an error.
    respond(request, response, (body) => {
      last = body;
      return answers.shift() ?? ["No answer was written for this request."];
    }).catch(() => {
      response.destroy();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    answer: (pieces) => answers.push(pieces),
    lastRequest: () => last,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function respond(request: IncomingMessage, response: ServerResponse, answer: (body: string) => Pieces): Promise<void> {
  const pieces = answer(await text(request));
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = async (delta: object, finish_reason: string | null = null) => {
    const chunk = { id: "chat-1", object: "chat.completion.chunk", model: "scripted", choices: [{ index: 0, delta, finish_reason }] };
    if (!response.write(`data: ${JSON.stringify(chunk)}\n\n`)) await once(response, "drain");
  };
  await send({ role: "assistant", content: "" });
  let calls = 0;
  for await (const piece of pieces) {
    if (typeof piece === "string") {
      await send({ content: piece });
    } else if ("thought" in piece) {
      await send({ reasoning_content: piece.thought });
    } else {
      const called = { name: piece.tool, arguments: piece.input };
      await send({ tool_calls: [{ index: calls, id: `call-${randomUUID()}`, type: "function", function: called }] });
      calls += 1;
    }
  }
  await send({}, calls > 0 ? "tool_calls" : "stop");
  response.write(`data: ${JSON.stringify({ id: "chat-1", object: "chat.completion.chunk", choices: [], usage: USAGE })}\n\n`);
  response.end("data: [DONE]\n\n");
}
