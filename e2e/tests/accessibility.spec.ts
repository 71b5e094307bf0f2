// Runs axe on every view, in the light and the dark theme: in English on a wide screen, and in Japanese on a narrow one.

import type { APIRequestContext, Page } from "@playwright/test";
import { NOTHING, findings } from "../kit/axe.ts";
import { act, alive, openMenu } from "../kit/chat.ts";
import { playTurnByClock } from "../kit/live.ts";
import { watchNotifications } from "../kit/notifications.ts";
import { call, conversation, cut, open, planned } from "../kit/seed.ts";
import { chooseInMenu } from "../kit/sidebar.ts";
import { expect, test } from "../kit/test.ts";

/** Id of the only user of a server without accounts. The browser stores drafts under this id. */
const LOCAL_USER = 1;

// No test shares a page with another one, so all workers can run tests of this file at the same time.
test.describe.configure({ mode: "parallel" });

/** Shows the usage of the last answer: by the line below it, which on a phone has no room for that, or by its menu. */
async function showUsage(page: Page): Promise<void> {
  const usage = page.getByTestId("usage");
  if (await usage.isVisible()) await usage.click();
  else await act(page.locator("article[data-role]").last(), "usage");
}

const CALLS = [
  call("add", { a: 1, b: 2 }),
  call("search", { query: "x", options: { deep: true } }, { output: "long ".repeat(2000) }),
  call("divide", { a: 1, b: 0 }, { status: "error", output: null, error: "invalid_b: division by zero" }),
  call("mail", {}, { status: "interrupted", output: null, duration_ms: null }),
  call("drop", {}, { status: "denied", output: null }),
  call("wait", {}, { status: "cancelled", output: null }),
  call("pay", { amount: 5 }, { status: "awaiting_approval", output: null, duration_ms: null }),
];
const MARKDOWN = [
  "Some *prose* with a [link](https://example.com) and `code`.",
  "- [x] done\n- [ ] open",
  "| a | b |\n|-|-|\n| 1 | 2 |",
  "> quoted[^1]\n\n[^1]: A note.",
  "```rust\nfn main() {}\n```",
].join("\n\n");
const USAGE = { input_tokens: 1200, output_tokens: 300, cached_tokens: 0 };
const LONG = conversation("Long", Array.from({ length: 60 }, (_, at) => [`Question ${at}`, { content: "Yes." }]));
const PLAIN = conversation("Sums", [["What is 1 + 2?", { content: "It is 3.", usage: USAGE }]]);

/** Opens the conversation list if it is not visible. */
async function showSidebar(page: Page): Promise<void> {
  const menu = page.getByTestId("open-sidebar");
  if (await menu.isVisible()) await menu.click();
  await expect(page.getByTestId("search")).toBeVisible();
}

/** Functions that open a view, by the view's name. */
const VIEWS: Record<string, (page: Page, request: APIRequestContext) => Promise<void>> = {
  "a new chat": async (page) => {
    await page.goto("/");
    await alive(page);
  },
  "a conversation with open calls": async (page) => {
    await open(page, conversation("Sums", [["What is it?", { content: MARKDOWN, calls: CALLS, usage: USAGE }]]));
    await page.getByTestId("tool-group").click();
    await expect(page.getByTestId("tool-call")).not.toHaveCount(0);
    for (const line of await page.getByTestId("tool-call").all()) {
      if ((await line.getAttribute("aria-expanded")) === "false") await line.click();
    }
  },
  "a conversation with tables, headings of any level and plans": async (page) => {
    const table = "| Item | Sum |\n|-|-:|\n| Tea | 3 |";
    const content = `### Deep\n\n${table}\n\n##### Deeper\n\n${table}\n\n# High\n\n- ### In a list`;
    const steps = [{ instruction: "Look", status: "completed" as const, attempt: 1 }];
    const done = { content: "Done.", plan: planned(steps) };
    await open(page, conversation("Tables", [["One?", { content }], ["Two?", { content }], ["Three?", done], ["Four?", done]]));
    await expect(page.locator("table")).toHaveCount(4);
    await expect(page.getByTestId("plan")).toHaveCount(2);
  },
  "calls that need approval": async (page) => {
    const calls = [1, 2].map((amount) => call("bank__pay", { amount, to: { name: "Ada" } }, { status: "awaiting_approval", output: null, duration_ms: null }));
    const [first] = calls;
    const review = { tool_call_id: first!.tool_call_id, model: "Sonnet", reason: "It is a lot.", duration_ms: 900 };
    first!.reviews = [{ ...review, verdict: "reject" }, { ...review, model: "GPT", verdict: "approve" }, { ...review, model: "X", verdict: "abstain" }];
    await open(page, conversation("Payments", [["Pay", { content: "I would pay.", status: "awaiting_approval", calls }]]));
    for (const edge of await page.locator(".approval-edge").all()) await edge.evaluate((edge) => edge.scrollIntoView());
    await page.getByTestId("change-input").last().click();
    await page.getByTestId("input-field").fill("{");
    await page.getByTestId("deny").first().click();
    await expect(page.getByTestId("deny-reason")).toBeVisible();
  },
  "a call with progress": async (page) => {
    const { turn, clock } = await playTurnByClock(page);
    await turn.say("tool_call_start", { tool_call_id: 1, tool_name: "crawl", input: { depth: 9 }, offset: 0 });
    await turn.say("tool_call_progress", { tool_call_id: 1, progress: 3, total: 10, message: "reading page 3" });
    await clock.runFor(100);
    await page.clock.resume();
    await expect(page.getByTestId("tool-progress")).toBeVisible();
  },
  "the tools panel of a conversation": async (page) => {
    const tool = { description: "Does it.", input_schema: {}, idempotent: true, enabled: true };
    const items = [
      { ...tool, name: "add", server: null, risk: "low" },
      { ...tool, name: "files__write", server: "files", risk: "high", changed: { tool: "write", hash: "00", description: "Does more." } },
    ];
    const servers = [
      { name: "files", status: "connected", tools: 1, left_out: [{ name: "odd", reason: "its schema is not an object" }] },
      { name: "mail", status: "failed", error: "The connection was refused.", tools: 0, left_out: [] },
      { name: "web", status: "connecting", tools: 0, left_out: [] },
    ];
    await page.route("**/api/tools", (route) => route.fulfill({ json: { items, servers } }));
    await page.route("**/api/conversations/*/tools", (route) => route.fulfill({ json: { disabled: ["add"] } }));
    await open(page, PLAIN);
    await page.getByTestId("open-tools").click();
    await expect(page.getByTestId("tool-server")).toHaveCount(4);
  },
  "a list of tools that failed to load": async (page) => {
    await page.route("**/api/tools", (route) => route.fulfill({ status: 503, body: "{}" }));
    await open(page, PLAIN);
    await page.getByTestId("open-tools").click();
    await expect(page.getByTestId("load-tools-problem")).toBeVisible();
  },
  "the settings": async (page) => {
    const approval = { id: 7, tool_name: "bank__pay", scope: "conversation", conversation_id: PLAIN.uuid, tool_call_id: 1, decided_by: "Ada" };
    const items = [{ ...approval, created_at: "2026-11-01T12:00:00Z" }];
    await page.route("**/api/approvals", (route) => route.fulfill({ json: { items, next_cursor: null } }));
    await page.goto("/settings");
    await expect(page.getByTestId("approval")).toBeVisible();
  },
  "a truncated call whose rest failed to load": async (page) => {
    const calls = [cut(call("read", { query: "long ".repeat(20_000) }, { output: "long ".repeat(20_000) }))];
    await open(page, conversation("Long", [["Read", { content: "Done.", calls }]]));
    await page.route("**/api/tool-calls/*", (route) => route.fulfill({ status: 503, body: "{}" }));
    await page.getByTestId("tool-call").click();
    await page.getByTestId("show-all").first().click();
    await expect(page.getByTestId("show-all-problem").first()).toBeVisible();
  },
  "a planned answer": async (page) => {
    const plan = planned(
      [
        { instruction: "Add the two.", status: "completed", attempt: 1, offset: 0, calls_before: 0, end_offset: 4 },
        { instruction: "Read the page.", status: "failed", attempt: 2, reason: "It is gone.", offset: 4, calls_before: 1, end_offset: 8 },
        { instruction: "Read its copy.", status: "executing", attempt: 2, reason: "It was empty.", revision: 2, offset: 8, calls_before: 1 },
        { instruction: "Write it down.", revision: 2 },
      ],
      { reason: "The page is gone." },
    );
    const calls = [call("add", { a: 1, b: 2 })];
    await open(page, conversation("Planned", [["Go", { content: "One.Two.Three.", status: "stopped", calls, plan }]]));
    await page.getByTestId("plan-line").first().click();
    await expect(page.getByTestId("tool-call")).toBeVisible();
  },
  "a running answer": async (page) => {
    const { turn, clock } = await playTurnByClock(page);
    await turn.say("tool_call_start", { tool_call_id: 1, tool_name: "crawl", input: { depth: 9 }, offset: 0 });
    await clock.runFor(100);
    await expect(page.getByTestId("tool-call")).toBeVisible();
    await clock.runFor(31_000);
    await page.clock.resume();
    await expect(page.getByTestId("stop-call")).toBeVisible();
  },
  "queued messages": async (page) => {
    const { turn, clock } = await playTurnByClock(page);
    await turn.say("content_delta", { offset: 0, delta: "So far" });
    for (const words of ["The next", `A long one\n${"line\n".repeat(30)}`]) {
      await page.getByTestId("composer").fill(words);
      await page.getByTestId("send").click();
      await clock.runFor(100);
    }
    await page.clock.resume();
    await page.getByTestId("queue-edit").first().click();
    await expect(page.getByTestId("queue-field")).toBeVisible();
  },
  "messages that failed to be sent": async (page) => {
    const kept = { messages: [{ id: "1", text: "The next" }], is_sending: false };
    await page.addInitScript(([name, kept]) => localStorage.setItem(name!, kept!), [`draft:${LOCAL_USER}:queue-${PLAIN.uuid}`, `${Date.now()} ${JSON.stringify(kept)}`]);
    await open(page, PLAIN);
    await expect(page.getByTestId("send-now")).toBeVisible();
  },
  "a truncated answer, and a search without matches in it": async (page) => {
    await page.route("**/search?*", (route) => route.fulfill({ json: { items: [], next_cursor: null, complete: true } }));
    await open(page, conversation("Long", [["Write", { content: "So far", stop_reason: "max_tokens" }]]));
    await expect(page.getByTestId("ask-for-rest")).toBeVisible();
    await page.locator("#thread").focus();
    await page.keyboard.press("/");
    await page.getByTestId("find-field").fill("cherries");
    await expect(page.getByTestId("find-place")).toHaveText(/No matches|一致なし/);
  },
  "earlier messages that failed to load": async (page) => {
    await open(page, LONG);
    // Waits for the messages that the page opens with, because the page keeps its scroll position while they appear.
    await expect(page.locator("article")).toHaveCount(50);
    await page.route(({ searchParams }) => searchParams.has("before"), (route) => route.fulfill({ status: 503, body: "{}" }));
    await page.locator("#thread").evaluate((thread) => thread.scrollTo(0, 0));
    await expect(page.getByTestId("show-earlier-problem")).toBeVisible();
  },
  "a link to a message that is still loading": async (page) => {
    await open(page, LONG);
    await page.route(({ searchParams }) => searchParams.has("before"), () => {});
    await page.evaluate((id) => location.assign(`#message-${id}`), LONG.messages[0]!.id);
    await expect(page.locator(".connection")).toHaveText(/\S/);
  },
  "a long question, folded": async (page) => {
    await open(page, conversation("Long", [[`Read\n${"line\n".repeat(40)}`, { content: "Done." }]]));
    await expect(page.getByTestId("fold")).toBeVisible();
  },
  errors: async (page) => {
    const failed = { content: "", status: "failed", error: "The provider refused the key. Check it." };
    const stopped = { content: "So far", status: "stopped" };
    await open(page, conversation("Errors", [["One", failed], ["Two", stopped], ["Three", { content: "" }]]));
    await page.route("**/messages", (route) => route.fulfill({ status: 503, body: "{}" }));
    await page.getByTestId("composer").fill("Four");
    await page.getByTestId("send").click();
    await expect(page.getByTestId("notice")).toBeVisible();
  },
  "the help dialog, in a browser that blocks notifications": async (page) => {
    await watchNotifications(page, "denied");
    await page.goto("/");
    await alive(page);
    await page.keyboard.press("Control+/");
    await page.getByTestId("notifications").click();
    await expect(page.locator(".help-note[role=status]")).toHaveText(/\S/);
  },
  "a failed answer, with its recovery action": async (page) => {
    const failed = { content: "So far", status: "failed", error: "The provider refused the key.", error_code: "model_auth" };
    await open(page, conversation("Failed", [["One", failed]]));
    await expect(page.getByTestId("retry")).toBeVisible();
  },
  "an answer with reasoning, an explanation and a context note": async (page) => {
    const reasoning = [{ reasoning_id: 1, offset: 0, text: "Two and two.\n\nThat is four.", duration_ms: 2100 }];
    const stored = conversation("Thoughts", [
      ["One", { content: "1" }],
      ["And one", { content: "Let me add.It is 2.", calls: [call("add", { a: 1, b: 1 }, { offset: 11 })], reasoning }],
    ]);
    Object.assign(stored.messages[3]!, { told: { from: stored.messages[2]!.id, summary: "They count." } });
    await page.route("**/reasoning-summary", (route) => route.fulfill({ json: { lines: ["It added the numbers."] } }));
    await open(page, stored);
    await page.getByTestId("told").locator("summary").click();
    await page.getByTestId("thought").click();
    await act(page.locator("article[data-role]").last(), "explain");
    await expect(page.getByTestId("explanation").locator("li")).toBeVisible();
  },
  "the usage dialog": async (page) => {
    const items = [{ purpose: "answer", calls: 2, ...USAGE }, { purpose: "title", calls: 1, ...USAGE }];
    await page.route("**/usage", (route) => route.fulfill({ json: { items } }));
    await open(page, PLAIN);
    await showUsage(page);
    await expect(page.getByTestId("usage-row")).toHaveCount(3);
  },
  "the shared links of a conversation": async (page) => {
    const share = { id: 1, path: "/s/00000000-0000-4000-8000-000000000002", conversation_uuid: PLAIN.uuid, title: "Sums", tool_calls: true, files: true };
    const items = [{ ...share, created_at: "2026-11-01T12:00:00Z" }];
    await page.route("**/api/shares", (route) => route.fulfill({ json: { items, next_cursor: null } }));
    await open(page, PLAIN);
    await page.getByTestId("conversation-menu").click();
    await page.getByTestId("menu-share").click();
    await expect(page.getByTestId("share")).toBeVisible();
  },
  "the menu of an answer": async (page) => {
    await open(page, PLAIN);
    await openMenu(page.locator("article[data-role]").last());
  },
  "an answer in playback": async (page) => {
    await page.route("**/playback*", (route) => {
      const event = (event: string, data: object) => ({ event, data, at: "2026-11-01T12:00:00Z" });
      const start = { user_message_id: 1, assistant_message_id: PLAIN.messages[1]!.id, conversation_id: PLAIN.uuid, content: "What is 1 + 2?" };
      const items = [event("message_start", start), event("content_delta", { offset: 0, delta: "It is 3." })];
      return route.fulfill({ json: { items, next: null } });
    });
    await open(page, PLAIN);
    await act(page.locator("article[data-role]").last(), "play-again");
    await expect(page.getByTestId("playback").locator(".prose")).toHaveText("It is 3.");
  },
  "a busy provider": async (page) => {
    const { turn, clock } = await playTurnByClock(page);
    await turn.say("model_retry", { code: "model_busy", attempt: 2, attempts: 3, delay_ms: 14_000 });
    await clock.runFor(100);
    await page.clock.resume();
    await expect(page.locator(".thinking-seconds")).toBeVisible();
  },
  "a lost connection": async (page) => {
    await page.route("**/conversations/*/events*", (route) => route.abort());
    await page.route("**/messages", (route) => route.fulfill({ contentType: "text/event-stream", body: ": hello\n\n" }));
    await page.goto("/");
    await page.getByTestId("composer").fill("What is 1 + 1?");
    await page.getByTestId("send").click();
    await expect(page.getByTestId("retry-now")).toBeVisible();
  },
  "a page of an older version": async (page) => {
    const headers = { "tallybook-page": "/pkg/0123456789abcdef" };
    await page.route("**/api/events", (route) => route.fulfill({ contentType: "text/event-stream", headers, body: "" }));
    await page.goto("/");
    await expect(page.getByTestId("outdated")).toBeVisible();
  },
  "a conversation that is loading": async (page) => {
    await open(page, PLAIN);
    await page.keyboard.press("Control+Shift+O");
    await expect(page.getByTestId("example").first()).toBeVisible();
    await page.route("**/api/conversations/*", () => {});
    await showSidebar(page);
    await page.getByTestId("conversation-link").click();
    await expect(page.getByTestId("skeleton")).toBeVisible();
  },
  "a conversation that was deleted elsewhere": async (page, request) => {
    const { uuid } = await (await request.post("/api/conversations", { data: {} })).json();
    await page.goto(`/c/${uuid}`);
    await alive(page);
    await request.delete(`/api/conversations/${uuid}`);
    await expect(page.getByTestId("deleted-notice")).toBeVisible();
  },
  "versions of a question and an answer": async (page) => {
    await open(page, conversation("Versions", [["What is 1 + 2?", { content: "It is 3.", version: [2, 3], usage: USAGE }]]));
    await expect(page.getByTestId("version")).toHaveText("2/3");
  },
  "a question while it is edited": async (page) => {
    await open(page, PLAIN);
    await page.getByTestId("edit").click();
    await expect(page.getByTestId("edit-field")).toBeFocused();
  },
  "the menu of a conversation": async (page) => {
    await open(page, PLAIN);
    await page.getByTestId("conversation-menu").click();
    await expect(page.getByTestId("markdown")).toBeVisible();
  },
  "the title while it is edited": async (page) => {
    await open(page, PLAIN);
    await page.getByTestId("conversation-menu").click();
    await page.getByTestId("menu-rename").click();
    await expect(page.getByTestId("rename-field")).toBeFocused();
  },
  "the description of a tool": async (page) => {
    await page.goto("/");
    await alive(page);
    // A phone has no room for the tools.
    const chip = page.getByTestId("tool-chip").first();
    if (!(await chip.isVisible())) return;
    await chip.click();
    await expect(page.locator(".tool-about:popover-open")).toBeVisible();
  },
  "matches of a search in messages": async (page) => {
    await open(page, PLAIN);
    await showSidebar(page);
    await page.route("**/api/search?*", (route) => {
      const hit = { conversation_uuid: PLAIN.uuid, title: "Sums", message_id: PLAIN.messages[0]!.id, role: "user", shown: false };
      const snippet = [{ text: "What is ", is_match: false }, { text: "1 + 2", is_match: true }];
      const item = { ...hit, snippet, created_at: "2026-11-01T12:00:00Z" };
      return route.fulfill({ json: { items: [item, { ...item, tool_call_id: 7, tool_name: "add" }], next_cursor: "1", complete: true } });
    });
    await page.getByTestId("search").fill("1 + 2");
    await expect(page.getByTestId("search-hit")).toHaveCount(2);
  },
  "a match in a conversation": async (page) => {
    await open(page, PLAIN);
    await page.route("**/search?*", (route) => {
      const hit = { conversation_uuid: PLAIN.uuid, title: "Sums", message_id: PLAIN.messages[1]!.id, role: "assistant", shown: true };
      const item = { ...hit, snippet: [{ text: "It is 3", is_match: true }], created_at: "2026-11-01T12:00:00Z" };
      return route.fulfill({ json: { items: [item], next_cursor: null, complete: true } });
    });
    await page.locator("#thread").focus();
    await page.keyboard.press("/");
    await page.getByTestId("find-field").fill("is");
    await expect(page.getByTestId("find-place")).toHaveText(/1/);
    await expect(page.locator("[data-goal]")).toBeVisible();
  },
  "matches of a search": async (page) => {
    await open(page, PLAIN);
    await showSidebar(page);
    await page.getByTestId("search").fill("sum");
    await expect(page.getByTestId("sidebar").locator(".day")).toHaveCount(0);
    await expect(page.getByTestId("conversation-link")).toHaveText(["Sums"]);
  },
  "a failed search, in a list that was hidden": async (page, request) => {
    await request.post("/api/conversations", { data: { title: "Sums" } });
    await page.context().addCookies([{ name: "tallybook_sidebar", value: "folded", url: "http://127.0.0.1" }]);
    await page.goto("/");
    await alive(page);
    for (const address of ["**/api/search?*", /\/api\/conversations\?.*q=/]) {
      await page.route(address, (route) => route.fulfill({ status: 503, body: "{}" }));
    }
    await page.locator("#thread").focus();
    await page.keyboard.press("/");
    await page.getByTestId("search").fill("sum");
    await expect(page.getByTestId("sidebar").getByRole("alert").first()).toBeVisible();
  },
  "a search without matches": async (page) => {
    await open(page, PLAIN);
    await page.route(/\/api\/conversations\?.*q=/, (route) => route.fulfill({ json: { items: [], next_cursor: null } }));
    await showSidebar(page);
    await page.getByTestId("search").fill("cherries");
    await expect(page.locator(".sidebar-note").first()).toBeVisible();
  },
  "a conversation while it is renamed": async (page) => {
    await open(page, PLAIN);
    await showSidebar(page);
    await chooseInMenu(page.locator(".conversation-row"), "rename");
    await expect(page.getByTestId("rename-field")).toBeFocused();
  },
  "a deletion that can be undone": async (page) => {
    await page.route("**/api/conversations/*", (route) => (route.request().method() === "DELETE" ? route.abort() : route.fallback()));
    await open(page, PLAIN);
    await showSidebar(page);
    await chooseInMenu(page.locator(".conversation-row"), "delete");
    await expect(page.getByTestId("undo")).toBeAttached();
  },
  "the menu of a row": async (page) => {
    await open(page, PLAIN);
    await showSidebar(page);
    await page.getByTestId("row-menu").press("Enter");
    await expect(page.getByTestId("select")).toBeVisible();
  },
  "several selected conversations, and an action that failed": async (page) => {
    await open(page, PLAIN);
    await page.route("**/api/conversations/*", (route) => (route.request().method() === "PATCH" ? route.abort() : route.fallback()));
    await showSidebar(page);
    await chooseInMenu(page.locator(".conversation-row"), "pin");
    await expect(page.getByTestId("list-trouble")).toBeVisible();
    await chooseInMenu(page.locator(".conversation-row"), "select");
    await expect(page.getByTestId("choose")).toBeChecked();
  },
  "the archive": async (page) => {
    await open(page, { ...PLAIN, archived: true } as typeof PLAIN);
    await showSidebar(page);
    await page.getByTestId("open-archive").click();
    await expect(page.getByTestId("leave-archive")).toBeVisible();
  },
  "an archived conversation": async (page, request) => {
    const { uuid } = await (await request.post("/api/conversations", { data: { title: "Old" } })).json();
    await request.patch(`/api/conversations/${uuid}`, { data: { archived: true } });
    await page.goto(`/c/${uuid}`);
    await expect(page.getByTestId("archived-notice")).toBeVisible();
  },
  "the command palette": async (page) => {
    await open(page, PLAIN);
    await page.keyboard.press("Control+k");
    await page.getByTestId("palette-field").fill("su");
    await expect(page.getByTestId("palette-option").first()).toContainText("Sums");
  },
  "a command palette without matches": async (page) => {
    await page.goto("/");
    await alive(page);
    await page.keyboard.press("Control+k");
    await page.getByTestId("palette-field").fill("qqqq");
    await expect(page.locator(".palette-note")).not.toBeEmpty();
    await expect(page.getByTestId("palette-option")).toHaveCount(0);
  },
  "the sidebar": async (page) => {
    await page.goto("/");
    await alive(page);
    await showSidebar(page);
  },
  "a conversation that cannot be loaded": async (page) => {
    await open(page, PLAIN);
    await page.keyboard.press("Control+Shift+O");
    await expect(page.getByTestId("example").first()).toBeVisible();
    await page.route("**/api/conversations/*", (route) => route.fulfill({ status: 503, body: "{}" }));
    await showSidebar(page);
    await page.getByTestId("conversation-link").click();
    await expect(page.locator(".nothing")).toBeVisible();
  },
  "an unknown address": async (page) => {
    await page.goto("/nowhere");
    await expect(page.locator(".nothing h1")).toBeVisible();
  },
  "an unknown conversation": async (page) => {
    await page.goto("/c/00000000-0000-4000-8000-00000000dead");
    await expect(page.locator(".nothing h1")).toBeVisible();
  },
};

/** Language and screen size of each run. Each run checks both themes. */
const PLACES = {
  "English, wide": { language: "en", viewport: { width: 1280, height: 720 } },
  "Japanese, narrow": { language: "ja", viewport: { width: 360, height: 640 } },
} as const;

for (const [place, { language, viewport }] of Object.entries(PLACES)) {
  for (const [name, show] of Object.entries(VIEWS)) {
    test(`${name}, ${place}`, async ({ page, context, request, tolerated }) => {
      // The browser logs pages that were not found and requests that were refused to the console.
      tolerated.push(/Failed to load resource/);
      await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
      await page.setViewportSize(viewport);
      await context.addCookies([{ name: "tallybook_language", value: language, url: "http://127.0.0.1" }]);
      await show(page, request);
      await expect(page.locator("html")).toHaveAttribute("lang", language);
      expect(await findings(page)).toEqual(NOTHING);
    });
  }
}

test("the keyboard reaches everything in visual order, with a visible focus", async ({ page, request }) => {
  // The list becomes interactive because it changes: the server renders this conversation, and the page then gets none.
  await request.post("/api/conversations", { data: { title: "Soon hidden" } });
  await page.route(/\/api\/conversations\?/, (route) => route.fulfill({ json: { items: [], next_cursor: null } }));
  await page.goto("/");
  await alive(page);
  await expect(page.locator("[data-drawn]")).toHaveCount(0);
  await expect(page.getByText("Your conversations will appear here.")).toBeVisible();
  await expect(page.getByTestId("composer")).toBeFocused();
  await page.locator(".skip-link").focus();
  const stops: string[] = [];
  for (let press = 0; press < 25; press++) {
    const [name, outline, cutBy] = await page.evaluate(() => {
      const focused = document.activeElement!;
      const field = focused.closest(".composer") ?? focused;
      const name = focused.getAttribute("data-testid") ?? focused.className;
      const { outlineStyle, outlineWidth, outlineOffset } = getComputedStyle(field);
      const out = parseFloat(outlineWidth) + parseFloat(outlineOffset);
      const ring = field.getBoundingClientRect();
      let cutBy = "";
      for (let around = field.parentElement; around && around !== document.body; around = around.parentElement) {
        if (getComputedStyle(around).overflow === "visible") continue;
        const place = around.getBoundingClientRect();
        const isWhole =
          ring.left - out >= place.left && ring.right + out <= place.right && ring.top - out >= place.top && ring.bottom + out <= place.bottom;
        if (!isWhole) cutBy = around.className || around.tagName;
      }
      return [name!, outlineStyle, cutBy];
    });
    stops.push(name);
    expect(outline, `${name} has a visible focus`).not.toBe("none");
    expect(cutBy, `the focus ring of ${name} is complete`).toBe("");
    if (name === "composer") break;
    await page.keyboard.press("Tab");
  }
  const order = ["skip-link", "brand", "new-chat", "search", "open-archive", "open-settings", "open-help", "fold-sidebar", "open-tools", "thread", "connect-model", "example", "tool-chip"];
  expect(stops.filter((stop, at) => stop !== stops[at - 1])).toEqual([...order, "composer"]);
});
