// A mocked conversation whose calls wait for approval, and mocked responses to the user's decisions.

import type { Page, Request, Route } from "@playwright/test";
import { type Call, call, conversation, open } from "./seed.ts";
import { expect } from "./test.ts";

const WAITS = { status: "awaiting_approval", output: null, duration_ms: null } as const;
const TOOLS = {
  items: [{ name: "bank__pay", server: "bank", description: "Pays.", input_schema: {}, risk: "high", idempotent: false, enabled: true }],
  servers: [{ name: "bank", status: "connected", tools: 1, left_out: [] }],
};

/** Returns a call that waits for approval, of a tool of the server “bank”. */
export function pay(amount: number, other: Partial<Call> = {}): Call {
  return call("bank__pay", { amount, to: "Ada" }, { ...WAITS, ...other });
}

/** Returns a conversation whose answer waits for decisions on these calls. */
export function waiting(...calls: Call[]) {
  return conversation("Payments", [["Pay Ada", { content: "I would pay.", status: "awaiting_approval", calls }]]);
}

/** Opens such a conversation, with the tool server mocked as connected. */
export async function openWaiting(page: Page, stored: ReturnType<typeof conversation>): Promise<void> {
  await page.route("**/api/tools", (route) => route.fulfill({ json: TOOLS }));
  await open(page, stored);
  await expect(page.getByTestId("consent").first()).toBeVisible();
}

/** Responds to a request that resumes the turn: the turn completes with these calls. */
export function resumeTurn(route: Route, stored: ReturnType<typeof conversation>, calls: Call[], content = "I would pay.\n\nPaid."): Promise<void> {
  const assistant_message_id = stored.messages.at(-1)!.id;
  const events: [string, object][] = [
    ["snapshot", { assistant_message_id, epoch: 2, content: "I would pay.", tool_calls: calls, status: "streaming" }],
    [
      "message_end",
      {
        assistant_message_id, content, tool_calls: calls, status: "complete", stop_reason: "end_turn",
        usage: { input_tokens: 0, output_tokens: 0, cached_tokens: 0 },
      },
    ],
  ];
  const body = events.map(([event, data], at) => `id: 2.2.${at}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`).join("");
  return route.fulfill({ contentType: "text/event-stream", body });
}

/** Responds to the next decisions with `answer`. Returns the list of their requests, which grows as they arrive. */
export async function onDecision(page: Page, answer: (route: Route) => Promise<void>): Promise<Request[]> {
  const sent: Request[] = [];
  await page.route(/\/(decision|decisions)$/, (route) => {
    sent.push(route.request());
    return answer(route);
  });
  return sent;
}

/**
 * Waits until the first card accepts a decision: all of its input was in view, and the delay before its keys work has passed. The
 * page needs a fake clock.
 */
export async function ready(page: Page): Promise<void> {
  await expect(page.getByTestId("allow-once").first()).toBeEnabled();
  await page.clock.fastForward(1000);
}
