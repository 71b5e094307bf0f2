// The pictures of tools that ask first, of the panel where each can be turned off, and above both the choice of models. No
// tool of the demo model asks, so the conversation is made up, and nobody is asked.

import { rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { call, conversation, open } from "../kit/seed.ts";
import { expect, test } from "../kit/test.ts";
import { SIZES, picture } from "./picture.ts";

const file = join(tmpdir(), `tallybook-pictures-${process.pid}.toml`);
const model = (name: string, provider: string) =>
  `[[models]]\nname = "${name}"\nprovider = "${provider}"\nmodel = "a-model"\napi_key_env = "NO_KEY"\n`;

// The server is started before any hook runs. Whoever only lists the tests loads this file, too, and needs no server.
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
  { name: "files", status: "connected", tools: 3, left_out: [{ name: "watch", reason: "its schema is no object" }] },
  { name: "calendar", status: "failed", error: "The token endpoint answered 401.", tools: 0, left_out: [] },
];

test("pictures", async ({ page }) => {
  await page.setViewportSize(SIZES.wide);
  await page.route("**/api/tools", (route) => route.fulfill({ json: { items: ITEMS, servers: SERVERS } }));
  await page.route("**/api/conversations/*/tools", (route) => route.fulfill({ json: { disabled: ["convert_units"] } }));
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
  await open(page, conversation("Notes of the week", [["Which points of my notes are open? Make a list of them.", answer]]));
  await expect(page.getByTestId("consent")).toBeVisible();
  await picture(page, "consent", [["light", "wide"], ["dark", "wide"], ["dark", "narrow"]]);

  await page.getByTestId("open-tools").click();
  await expect(page.getByTestId("tool-server")).toHaveCount(3);
  await picture(page, "tools", [["light", "narrow"]]);
});
