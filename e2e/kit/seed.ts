// Builds conversations in the API's format, and mocks the API with them. For states that the demo model's tools never produce.

import type { Page } from "@playwright/test";
import { alive } from "./chat.ts";

export type CallStatus =
  | "pending"
  | "awaiting_approval"
  | "success"
  | "error"
  | "denied"
  | "cancelled"
  | "interrupted";

/** A tool call in the API's format. */
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
  proposed_input?: unknown;
  error_type?: string;
  decision?: {
    decision: "approve" | "deny";
    decided_by: string;
    decided_by_kind: "user" | "review" | "timeout";
    decided_by_user_id?: number;
    scope?: "conversation" | "always";
    decided_at: string;
  };
  reviews?: { tool_call_id: number; model: string; verdict: string; reason: string; duration_ms: number }[];
  truncated?: boolean;
  input_bytes?: number;
  output_bytes?: number;
}

const AT = "2026-11-01T12:00:00Z";
const UUID = "00000000-0000-4000-8000-000000000001";

let lastId = 1000;

/** Returns a successful call. `other` overrides its fields. */
export function call(tool_name: string, input: unknown, other: Partial<Call> = {}): Call {
  lastId += 1;
  const base = { tool_call_id: lastId, tool_name, input, offset: 0, started_at: AT };
  return { ...base, status: "success", output: "79", error: null, duration_ms: 3456, ...other };
}

/** Maximum size of an input or output in a message, in bytes. */
const MAX_CALL_TEXT_BYTES = 64 * 1024;

/** Returns a call as messages contain it: its input and output are truncated if they are too long. Assumes ASCII texts. */
export function cut(whole: Call): Call {
  const input = JSON.stringify(whole.input);
  return {
    ...whole,
    input: input.length > MAX_CALL_TEXT_BYTES ? input.slice(0, MAX_CALL_TEXT_BYTES) : whole.input,
    output: whole.output?.slice(0, MAX_CALL_TEXT_BYTES) ?? null,
    truncated: true,
    input_bytes: input.length,
    ...(whole.output !== null && { output_bytes: whole.output.length }),
  };
}

/** A step of a plan in the API's format. Missing fields default to those of a step that has not started. */
export interface Step {
  instruction: string;
  expected?: string;
  status?: "pending" | "executing" | "completed" | "failed";
  attempt?: number;
  reason?: string;
  revision?: number;
  offset?: number;
  calls_before?: number;
  end_offset?: number;
}

/** Returns a plan in the API's format. */
export function planned(steps: Step[], other: { reason?: string } = {}): object {
  const begin = { expected: "A number", status: "pending", attempt: 0, revision: 1 };
  const revision = Math.max(...steps.map((step) => step.revision ?? 1));
  const listed = steps.map((step, at) => ({ step_id: at + 1, ...begin, ...step }));
  return { plan_id: 1, offset: 0, revision, success_criteria: "All of it is known and written down.", steps: listed, ...other };
}

/** Content and state of an answer. */
export interface Answer {
  content: string;
  calls?: Call[];
  plan?: object;
  /** Reasoning that the model showed. */
  reasoning?: { reasoning_id: number; offset: number; text: string; duration_ms?: number }[];
  status?: string;
  error?: string;
  error_code?: string;
  stop_reason?: string;
  usage?: { input_tokens: number; output_tokens: number; cached_tokens: number; cost_nanos?: number };
  provider?: string;
  model?: string;
  feedback?: { rating: "up" | "down"; reason?: string };
  /** Number of this version, counted from 1, and the number of versions. If absent, the answer has only one version. */
  version?: [number, number];
}

/** A conversation in the API's format. */
interface Conversation {
  uuid: string;
  title: string;
  running: boolean;
  awaiting_approval: boolean;
  created_at: string;
  updated_at: string;
  messages: { id: number; told?: { from: number; summary?: string } }[];
  active_message_id: number | null;
}

/** Returns the API resource of a conversation with these questions and answers. */
export function conversation(title: string, turns: [string, Answer][]): Conversation {
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
  const awaiting_approval = messages.at(-1)?.status === "awaiting_approval";
  return { uuid: UUID, title, running: false, awaiting_approval, created_at: AT, updated_at: AT, messages, active_message_id: null };
}

/** Returns the part of a conversation that the query of a request selects. */
export function part(stored: Conversation, query: URLSearchParams): object {
  const { messages } = stored;
  const place = (name: string) => messages.findIndex((message) => message.id === Number(query.get(name)));
  const end = query.has("before") ? place("before") : messages.length;
  const newest = Math.max(0, end - Number(query.get("limit") ?? end));
  const from = place("from");
  const begin = from === -1 ? newest : Math.min(from, newest);
  const usage = { input_tokens: 0, output_tokens: 0, cached_tokens: 0 };
  const earlier = begin > 0 ? { earlier: { count: begin, usage } } : {};
  return { ...stored, messages: messages.slice(begin, end), ...earlier };
}

/** Returns the list entry of a conversation that the test never opens. `hours` is the time since its last update. */
export function listed(title: string, hours: number, other: { pinned?: boolean; running?: boolean } = {}): object {
  lastId += 1;
  const uuid = `00000000-0000-4000-8000-${String(lastId).padStart(12, "0")}`;
  const at = new Date(Date.now() - hours * 3_600_000).toISOString();
  return { uuid, title, running: false, awaiting_approval: false, created_at: at, updated_at: at, ...other };
}

/** Mocks the API with this one conversation, and opens it from the list. `others` are list entries below it. */
export async function open(page: Page, stored: Conversation, others: object[] = []): Promise<void> {
  const { uuid, title, running, awaiting_approval, created_at, updated_at } = stored;
  const summary = { uuid, title, running, awaiting_approval, created_at, updated_at };
  await page.route(/\/api\/conversations\?/, (route) => route.fulfill({ json: { items: [summary, ...others], next_cursor: null } }));
  await page.route(
    (url) => url.pathname === `/api/conversations/${UUID}`,
    (route) => route.fulfill({ json: part(stored, new URL(route.request().url()).searchParams) }),
  );
  await page.goto("/");
  await alive(page);
  const menu = page.getByTestId("open-sidebar");
  if (await menu.isVisible()) await menu.click();
  await page.locator(`[href="/c/${UUID}"]`).click();
  await page.locator("article[data-role]").last().waitFor();
}
