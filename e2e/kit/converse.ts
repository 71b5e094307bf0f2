// Holds a long conversation on a real server: asks each turn through the API, and the demo model answers.

import { type APIRequestContext, expect } from "@playwright/test";

/** Returns the question of the turn with this number, counted from 0. */
export function question(turn: number): string {
  return `What is (${turn} + 7.25) × 4?`;
}

/** Holds a conversation of this number of turns, with two tool calls each. Returns the path of its page. */
export async function converse(request: APIRequestContext, turns: number): Promise<string> {
  const made = await request.post("/api/conversations", { data: { title: "Long" } });
  const { uuid } = await made.json();
  for (let turn = 0; turn < turns; turn++) {
    const answer = await request.post(`/api/conversations/${uuid}/messages`, { data: { content: question(turn) } });
    expect(await answer.text()).toContain("event: message_end");
  }
  return `/c/${uuid}`;
}
