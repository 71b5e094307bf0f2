// Takes pictures of an answer with tool calls, of a call that waits for approval, and of the panel where users turn off tools.
// The header shows the model menu. The demo model has no such tools, so the conversations are mocked, and no model is called.

import { rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toolCalls } from "../kit/chat.ts";
import { call, conversation, listed, open } from "../kit/seed.ts";
import { expect, test } from "../kit/test.ts";
import { SIZES, picture } from "./picture.ts";

const file = join(tmpdir(), `tallybook-pictures-${process.pid}.toml`);
const model = (name: string, provider: string) =>
  `[[models]]\nname = "${name}"\nprovider = "${provider}"\nmodel = "a-model"\napi_key_env = "NO_KEY"\n`;

// Writes the file at load time, because the server starts before any hook runs. Outside of workers, Playwright loads this
// file only to list the tests, which needs no server.
if (process.env.TEST_WORKER_INDEX !== undefined) writeFileSync(file, model("Sonnet", "anthropic") + model("GPT", "openai"));

test.use({ settings: { CONFIG_FILE: file, NO_KEY: "not-a-key" } });
test.afterAll(() => rmSync(file, { force: true }));

const TOOL = { input_schema: {}, idempotent: true, enabled: true, risk: "low", server: "files" };
const ITEMS = [
  { ...TOOL, server: null, name: "add", description: "Adds two decimal numbers exactly." },
  { ...TOOL, server: null, name: "convert_units", description: "Converts a quantity from one unit to another." },
  { ...TOOL, name: "files__list", description: "Lists the files of a folder." },
  { ...TOOL, name: "files__read", description: "Reads a text file, from its beginning or from a line on." },
  { ...TOOL, name: "files__write", risk: "high", description: "Writes a text file, in the place of the one that was there." },
];
const SERVERS = [
  { name: "files", status: "connected", tools: 3, left_out: [{ name: "watch", reason: "its schema is not an object" }] },
  { name: "calendar", status: "failed", error: "The token endpoint answered 401.", tools: 0, left_out: [] },
];

/** The other entries of the conversation list. */
const OTHERS = [
  listed("Names for the new espresso machine", 1, { running: true }),
  listed("Reply to the landlord", 3),
  listed("Weekend in Trieste by train", 27),
  listed("Why the tests are flaky on Mondays", 30),
  listed("Bread with rye, second attempt", 80),
  listed("A toast for Ada's wedding", 100),
];
const NOW = { created_at: new Date().toISOString(), updated_at: new Date().toISOString() };

test.beforeEach(async ({ page }) => {
  await page.setViewportSize(SIZES.wide);
  await page.route("**/api/tools", (route) => route.fulfill({ json: { items: ITEMS, servers: SERVERS } }));
  await page.route("**/api/conversations/*/tools", (route) => route.fulfill({ json: { disabled: ["convert_units"] } }));
});

test("a conversation", async ({ page }) => {
  const content = `The receipts are in your notes; I add them up and divide by the twelve who came.

It cost **€2,844.00** in all, which is **€237.00** each:

| | € | share |
|---|--:|--:|
| Hotel | 1,836.00 | 64.6 % |
| Trains | 612.40 | 21.5 % |
| Dinner | 395.60 | 13.9 % |`;
  const offset = content.indexOf("\n\nIt cost");
  const receipts = "hotel   1,836.00\ntrains    612.40\ndinner    395.60";
  const calls = [
    call("files__read", { folder: "notes/offsite" }, { output: receipts, duration_ms: 14, offset }),
    call("evaluate", { expression: "1836 + 612.4 + 395.6" }, { output: "2844", duration_ms: 2, offset }),
    call("divide", { a: "2844", b: "12" }, { output: "237", duration_ms: 1, offset }),
  ];
  const usage = { input_tokens: 2480, output_tokens: 212, cached_tokens: 1900 };
  const author = { provider: "anthropic", model: "Sonnet" };
  const question = "What did the offsite cost us, per person? The receipts are in my notes.";
  const stored = conversation("What the offsite cost", [[question, { content, calls, usage, ...author }]]);
  await open(page, { ...stored, ...NOW }, OTHERS);
  const answer = page.locator('article[data-role="assistant"]');
  await answer.getByTestId("tool-group").click();
  await expect(toolCalls(answer)).toHaveCount(3);
  await picture(page, "conversation", [["light", "narrow"]]);
  await toolCalls(answer).last().click();
  await expect(answer.getByTestId("tool-call-details")).toBeVisible();
  await picture(page, "conversation", [["light", "wide"], ["dark", "wide"]]);
});

test("a call that needs approval, and the tools panel", async ({ page }) => {
  const content = "I found three open points in your notes.\n\nI would put them into a list of their own.";
  const end = content.length;
  const waits = { status: "awaiting_approval", output: null, duration_ms: null, offset: end } as const;
  const calls = [
    call("files__list", { folder: "notes" }, { output: "monday.md, tuesday.md, wednesday.md", duration_ms: 12 }),
    call("files__read", { path: "notes/wednesday.md" }, { output: "Call Ada. Send the offer. Book a room.", duration_ms: 8 }),
    call("files__write", { path: "notes/open.md", text: "- Call Ada\n- Send the offer\n- Book a room" }, waits),
  ];
  const write = calls[2]!;
  write.reviews = [
    { tool_call_id: write.tool_call_id, model: "Sonnet", verdict: "approve", reason: "A new file, and what was asked for.", duration_ms: 900 },
  ];
  const answer = { content, status: "awaiting_approval", calls };
  const stored = conversation("Notes of the week", [["Which points of my notes are open? Make a list of them.", answer]]);
  await open(page, { ...stored, ...NOW }, OTHERS);
  await expect(page.getByTestId("consent")).toBeVisible();
  await picture(page, "approval", [["light", "wide"], ["dark", "wide"], ["dark", "narrow"]]);

  await page.getByTestId("open-tools").click();
  await expect(page.getByTestId("tool-server")).toHaveCount(3);
  await picture(page, "tools", [["light", "narrow"]]);
});
