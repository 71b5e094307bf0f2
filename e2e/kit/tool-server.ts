// A tool server over Streamable HTTP that accepts one token.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** A tool server. Its tool `look_up` is marked as read-only, and `send_mail` is not. The schema of `broken` cannot be used. */
export interface ToolServer {
  url: string;
  /** Returns the names and arguments of all calls so far. */
  calls(): object[];
  stop(): Promise<void>;
}

const SCHEMA = { type: "object", properties: { words: { type: "string" } } };
const TOOLS = [
  { name: "look_up", description: "Looks up words.", inputSchema: SCHEMA, annotations: { readOnlyHint: true } },
  { name: "send_mail", description: "Sends words to a colleague.", inputSchema: SCHEMA },
  { name: "broken", inputSchema: { type: "object", properties: { words: { $ref: "https://example.com/words" } } } },
];

/** Starts a tool server that accepts requests with this token only. */
export async function startToolServer(token: string): Promise<ToolServer> {
  const calls: object[] = [];
  const results: Record<string, (params: any) => object> = {
    initialize: ({ protocolVersion }) => ({
      protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "lookup", version: "1" },
    }),
    "tools/list": () => ({ tools: TOOLS }),
    "tools/call": ({ name, arguments: input }) => {
      calls.push({ name, ...input });
      return { content: [{ type: "text", text: `Found: ${input.words}` }] };
    },
    ping: () => ({}),
  };
  const server = createServer(async (request, response) => {
    if (request.headers.authorization !== `Bearer ${token}`) {
      response.writeHead(401, { "www-authenticate": "Bearer" }).end();
    } else if (request.method !== "POST") {
      response.writeHead(405).end();
    } else {
      const { id, method, params } = JSON.parse(await text(request));
      if (id === undefined) {
        response.writeHead(202).end();
        return;
      }
      const result = results[method];
      const outcome = result ? { result: result(params) } : { error: { code: -32601, message: "Method not found" } };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ jsonrpc: "2.0", id, ...outcome }));
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    calls: () => calls,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
