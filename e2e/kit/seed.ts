// A conversation as the API would tell it, made up by a test: what no tool of the demo model ever does.

import { type Page, expect } from "@playwright/test";

export type CallStatus =
  | "pending"
  | "awaiting_approval"
  | "success"
  | "error"
  | "denied"
  | "cancelled"
  | "interrupted";

/** A tool call as the wire carries it. */
export interface Call {
  tool_call_id: number;
  tool_name: string;
  input: unknown;
  offset: number;
  status: CallStatus;
  output: string | null;
  error: string | null;
  duration_ms: number | null;
  started_at: string;
}

const AT = "2026-11-01T12:00:00Z";
const UUID = "00000000-0000-4000-8000-000000000001";

let lastId = 1000;

/** A call that ended well, unless told otherwise. */
export function call(tool_name: string, input: unknown, other: Partial<Call> = {}): Call {
  lastId += 1;
  const base = { tool_call_id: lastId, tool_name, input, offset: 0, started_at: AT };
  return { ...base, status: "success", output: "79", error: null, duration_ms: 3456, ...other };
}

/** What an answer is made of. */
export interface Answer {
  content: string;
  calls?: Call[];
  status?: string;
  error?: string;
  error_code?: string;
  usage?: { input_tokens: number; output_tokens: number; cached_tokens: number };
  /** Which of how many versions it is, counted from 1; the only one unless told. */
  version?: [number, number];
}

/** The resource of a conversation with these questions and answers. */
export function conversation(title: string, turns: [string, Answer][]): object {
  const messages = turns.flatMap(([question, { calls, version, ...answer }]) => {
    lastId += 2;
    const [place, count] = version ?? [1, 0];
    const siblings = Array.from({ length: count }, (_, at) => (at === place - 1 ? lastId : 1_000_000 + at));
    const base = { status: "complete", error: null, created_at: AT };
    return [
      { ...base, id: lastId - 1, role: "user", content: question, tool_calls: [] },
      { ...base, id: lastId, role: "assistant", tool_calls: calls ?? [], siblings, ...answer },
    ];
  });
  return { uuid: UUID, title, running: false, created_at: AT, updated_at: AT, messages, active_message_id: null };
}

/** Lets the API tell of this one conversation, and opens it from the list. */
export async function open(page: Page, told: object): Promise<void> {
  const { uuid, title, running, created_at, updated_at } = told as Record<string, unknown>;
  const summary = { uuid, title, running, created_at, updated_at };
  await page.route(/\/api\/conversations\?/, (route) => route.fulfill({ json: { items: [summary], next_cursor: null } }));
  await page.route(`**/api/conversations/${UUID}`, (route) => route.fulfill({ json: told }));
  await page.goto("/");
  await expect(page.getByTestId("composer")).toBeEnabled();
  const menu = page.getByTestId("open-sidebar");
  if (await menu.isVisible()) await menu.click();
  await page.locator(`[href="/c/${UUID}"]`).click();
  await page.locator("article[data-role]").last().waitFor();
}
