// A long conversation that was really held: each turn asked through the API and answered by the demo model.

import { type APIRequestContext, expect } from "@playwright/test";

/** What the `turn`th question asks, counted from 0. */
export function question(turn: number): string {
  return `What is (${turn} + 7.25) × 4?`;
}

/** Holds a conversation of so many turns, with two tool calls each, and gives the address of its page. */
export async function converse(request: APIRequestContext, turns: number): Promise<string> {
  const made = await request.post("/api/conversations", { data: { title: "Long" } });
  const { uuid } = await made.json();
  for (let turn = 0; turn < turns; turn++) {
    const answer = await request.post(`/api/conversations/${uuid}/messages`, { data: { content: question(turn) } });
    expect(await answer.text()).toContain("event: message_end");
  }
  return `/c/${uuid}`;
}
