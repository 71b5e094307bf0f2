import { ChatPage } from "../kit/chat.ts";
import { call, conversation, open } from "../kit/seed.ts";
import { scriptTurn, started } from "../kit/live.ts";
import { expect, test } from "../kit/test.ts";
const OUT = "/tmp/shots/p3/work";
const WIDTHS = { "1440": { width: 1440, height: 900 }, "768": { width: 768, height: 900 }, "360": { width: 360, height: 740 } };
const which = (process.env.LOOK ?? "start,talk").split(",");
async function shots(page: any, name: string, langs = true) {
  for (const [w, viewport] of Object.entries(WIDTHS)) {
    if (process.env.W && !process.env.W.split(",").includes(w)) continue;
    await page.setViewportSize(viewport);
    for (const scheme of ["light", "dark"] as const) {
      if (process.env.S && process.env.S !== scheme) continue;
      await page.emulateMedia({ colorScheme: scheme });
      await page.waitForTimeout(150);
      await page.screenshot({ path: `${OUT}/${name}-${w}-${scheme}.png`, animations: "disabled", caret: "hide" });
    }
  }
}
const MD = `Here is the **summary** of the three runs, with a [source](https://example.com) and \`inline code\`.

## What changed

1. The first step was measured twice.
2. The second one is *new*:
   - it counts calls,
   - it keeps the order.

> A quotation that stands by itself.

| City | Price | Change |
|:--|--:|:-:|
| Osaka | 1,250.40 | +2.1 % |
| Lyon | 980.00 | −0.4 % |

\`\`\`rust
fn main() {
    // Exact in decimal.
    println!("{}", add(dec!(0.1), dec!(0.2)));
}
\`\`\`

That is all there is to say.`;
const usage = { input_tokens: 1200, output_tokens: 300, cached_tokens: 0 };
for (const lang of (process.env.L ?? "en,ja").split(",")) {
  test.describe(lang, () => {
    test.beforeEach(async ({ context }) => { await context.addCookies([{ name: "tallybook_language", value: lang, url: "http://127.0.0.1" }]); });
    if (which.includes("start")) test("start", async ({ page, context }) => {
      const p = new ChatPage(page);
      await page.goto("/"); await expect(page.getByTestId("composer")).toBeEnabled();
      await shots(page, `start-${lang}`);
    });
    if (which.includes("talk")) test("talk", async ({ page }) => {
      const calls = [
        call("add", { a: 12.5, b: 7.25 }, { output: "19.75", duration_ms: 340 }),
        call("multiply", { a: 19.75, b: 4 }, { output: "79", duration_ms: 12 }),
        call("add", { a: 1, b: 2 }, { output: "3", duration_ms: 2 }),
        call("divide", { a: 1, b: 0 }, { status: "error", output: null, error: "invalid_b: division by zero", duration_ms: 1 }),
        call("search_files", { query: "budget 2026", path: "/finance", limit: 20 }, { output: JSON.stringify({ rows: [{ file: "a.xlsx", words: "Budget of the year" }] }), duration_ms: 3456 }),
      ];
      const single = [call("add", { a: 12.5, b: 7.25 }, { output: "19.75", duration_ms: 340 })];
      const turns: any[] = [
        ["What is 12.5 + 7.25?", { content: "It is **19.75**.", calls: single, usage }],
        ["And now compare the prices, please, and tell me what changed since the last time that we looked at them.", { content: MD, calls, usage }],
      ];
      await open(page, conversation("Prices in Osaka and Lyon", turns as any));
      await shots(page, `talk-${lang}`);
      await page.setViewportSize(WIDTHS["1440"]);
      await page.getByTestId("tool-group").click();
      await page.getByTestId("tool-call").nth(4).click();
      await page.locator("#thread").evaluate((e) => { e.scrollTop = 0; });
      await shots(page, `calls-${lang}`);
    });
    if (which.includes("live")) test("live", async ({ page }) => {
      const turn = await scriptTurn(page);
      await page.goto("/");
      await page.getByTestId("composer").fill(started.content);
      await page.getByTestId("send").click();
      await turn.say("message_start", started);
      await page.waitForTimeout(3500);
      await page.screenshot({ path: `${OUT}/thinking-${lang}.png` });
      await turn.say("tool_call_start", { tool_call_id: 1, tool_name: "crawl", input: { depth: 9 }, offset: 0 });
      await page.waitForTimeout(1200);
      await page.screenshot({ path: `${OUT}/running-${lang}.png` });
      await turn.say("tool_call_end", { tool_call_id: 1, output: "3 pages", error: null, status: "success", duration_ms: 5 });
      await turn.say("content_delta", { offset: 0, delta: "I have read three pages, and this is what they say about the" });
      await page.waitForTimeout(300);
      await page.screenshot({ path: `${OUT}/caret-${lang}.png` });
    });
    if (which.includes("fail")) test("fail", async ({ page }) => {
      const failed = { content: "", status: "failed", error: "The provider refused the key. Check it.", error_code: "model_auth" };
      const cutoff = { content: "So far, so good", stop_reason: "max_tokens" } as any;
      await open(page, conversation("Failures", [["One", { content: "So far", status: "stopped", calls: [call("add", { a: 1, b: 2 })] }], ["Two", cutoff], ["Three", failed]]));
      await page.getByTestId("conversation-menu").click();
      await shots(page, `fail-${lang}`);
    });
  });
}
