// The Tallybook server that a client is tested against, and queries of its data with the client's API key.

import { expect } from "@playwright/test";

/** Returns an environment variable that `cargo xtask clients` sets. Throws if it is not set. */
export function variable(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is missing: run the programs with \`cargo xtask clients\``);
  return value;
}

export const url = variable("TALLYBOOK_URL");
export const key = variable("TALLYBOOK_KEY");

/** Name of the model. It answers `use add 1 2` with a call of `add`, `fault:NAME` with that fault, and other texts with an echo that counts images. */
export const model = "by-hand";

interface Conversation {
  uuid: string;
  messages: { role: string; status: string; content: string; files?: { kind: string; media_type: string; context: string }[]; tool_calls: { tool_name: string; status: string; output: string }[] }[];
}

async function get<T>(path: string): Promise<T> {
  const response = await fetch(url + path, { headers: { authorization: `Bearer ${key}` } });
  expect(response.status, path).toBe(200);
  return (await response.json()) as T;
}

/** Returns the number of conversations, up to 100. */
export async function count(): Promise<number> {
  return (await get<{ items: object[] }>("/api/conversations?limit=100")).items.length;
}

/** Returns a conversation with its messages. */
export async function conversation(uuid: string): Promise<Conversation> {
  return await get<Conversation>(`/api/conversations/${uuid}`);
}

/** Returns the conversation that was updated last. */
export async function newest(): Promise<Conversation> {
  const { items } = await get<{ items: { uuid: string }[] }>("/api/conversations");
  return await conversation(items[0]!.uuid);
}

/** Returns the number of model calls for a purpose this month. `plain` are direct model calls, without tools and not stored. */
export async function calls(purpose: string): Promise<number> {
  const { this_month } = await get<{ this_month: { purpose: string; calls: number }[] }>("/api/me");
  return this_month.find((used) => used.purpose === purpose)?.calls ?? 0;
}

/** Returns the tool calls of the key's owner that match a filter of the tool history, newest first. */
export async function toolHistory(filter: string): Promise<{ tool: string; status: string; user: string; conversation: string }[]> {
  const call = { name: "search_tool_calls", arguments: { filter } };
  const response = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: call }),
  });
  return (await response.json()).result.structuredContent.tool_calls;
}
