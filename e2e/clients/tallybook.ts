// The Tallybook that a program is tried on, and what it has stored, asked with the program's own key.

import { expect } from "@playwright/test";

/** Something that `cargo xtask clients` says. */
export function told(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is missing: run the programs with \`cargo xtask clients\``);
  return value;
}

export const url = told("TALLYBOOK_URL");
export const key = told("TALLYBOOK_KEY");

/** The model, which answers `use add 1 2` with a call of `add`, `fault:NAME` with that fault, and all else with an echo. */
export const model = "by-hand";

interface Conversation {
  uuid: string;
  messages: { role: string; status: string; content: string; tool_calls: { tool_name: string; status: string; output: string }[] }[];
}

async function get<T>(path: string): Promise<T> {
  const response = await fetch(url + path, { headers: { authorization: `Bearer ${key}` } });
  expect(response.status, path).toBe(200);
  return (await response.json()) as T;
}

/** How many conversations there are. */
export async function count(): Promise<number> {
  return (await get<{ items: object[] }>("/api/conversations?limit=100")).items.length;
}

/** A conversation with its messages. */
export async function conversation(uuid: string): Promise<Conversation> {
  return await get<Conversation>(`/api/conversations/${uuid}`);
}

/** The one that was touched last. */
export async function newest(): Promise<Conversation> {
  const { items } = await get<{ items: { uuid: string }[] }>("/api/conversations");
  return await conversation(items[0]!.uuid);
}

/** How many calls of models there were for a purpose; `plain` are those without tools, of which nothing is kept. */
export async function calls(purpose: string): Promise<number> {
  const { this_month } = await get<{ this_month: { purpose: string; calls: number }[] }>("/api/me");
  return this_month.find((used) => used.purpose === purpose)?.calls ?? 0;
}

/** The tool calls of one's own that a filter finds in the book, newest first. */
export async function book(filter: string): Promise<{ tool: string; status: string; user: string; conversation: string }[]> {
  const call = { name: "search_tool_calls", arguments: { filter } };
  const response = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: call }),
  });
  return (await response.json()).result.structuredContent.tool_calls;
}
