// Tests the line of a closed tool call: status, name, duration, and the preview of input and output. Also tests the line of a
// group of calls.

import type { Page } from "@playwright/test";
import { alive } from "../kit/chat.ts";
import { playTurnByClock } from "../kit/live.ts";
import { call, conversation, open } from "../kit/seed.ts";
import { expect, test } from "../kit/test.ts";

/** Opens a conversation whose only answer has these calls. Text before each call keeps the calls from being grouped. */
async function openCalls(page: Page, ...calls: ReturnType<typeof call>[]): Promise<void> {
  const content = calls.map((_, at) => `Step ${at}.`).join("\n\n");
  for (const [at, one] of calls.entries()) one.offset = content.indexOf(`Step ${at}.`) + `Step ${at}.`.length;
  await open(page, conversation("Calls", [["Go", { content, calls }]]));
}

/** Turns on the preview of every call, as the user's setting does. */
async function showPreviews(page: Page, baseURL: string | undefined): Promise<void> {
  await page.context().addCookies([{ name: "tallybook_call_previews", value: "on", url: baseURL! }]);
}

test("a closed call hides its input and output until it is opened", async ({ page }) => {
  await openCalls(page, call("add", { a: 12.5, b: 7.25 }, { output: "19.75" }), call("divide", { a: 1, b: 3 }));
  const line = page.getByTestId("tool-call").first();
  const [summary, result] = [line.locator(".tool-summary"), line.locator(".tool-result")];
  await page.mouse.move(0, 0);
  await expect(line.locator(".tool-name")).toBeVisible();
  await expect(line.locator(".tool-status"), "a stroke").toBeVisible();
  await expect(line.locator(".tool-duration")).toHaveText("3.4s");
  await expect(summary).toBeHidden();
  await expect(result).toBeHidden();
  await expect(line).toHaveAccessibleName(/^add\s+done\s+3\.4s$/);
  await line.hover();
  await expect(summary).toBeHidden();
  await expect(result).toBeHidden();
  await page.locator("#thread").focus();
  await page.keyboard.press("[");
  await page.keyboard.press("[");
  await expect(line).toBeFocused();
  await expect(result).toBeHidden();
  await page.keyboard.press("Enter");
  await expect(page.getByTestId("tool-call-details")).toContainText("19.75");
});

test("on a touch screen, a closed call shows no input and output", async ({ browser, baseURL }) => {
  const context = await browser.newContext({ baseURL: baseURL!, hasTouch: true, isMobile: true, serviceWorkers: "block" });
  const page = await context.newPage();
  await openCalls(page, call("add", { a: 1, b: 2 }));
  const line = page.getByTestId("tool-call");
  for (const expanded of ["true", "false"]) {
    await line.tap();
    await expect(line).toHaveAttribute("aria-expanded", expanded);
    await expect(line.locator(".tool-result")).toBeHidden();
  }
  await context.close();
});

test("the preview of calls is a setting that is remembered", async ({ page }) => {
  await page.goto("/settings");
  const choice = page.getByTestId("call-previews");
  await expect(choice).not.toBeChecked();
  await choice.check();
  await expect(page.locator("html")).toHaveAttribute("data-call-previews", "on");
  await openCalls(page, call("add", { a: 1, b: 2 }));
  await page.mouse.move(0, 0);
  const result = page.locator(".tool-result");
  await expect(result).toBeVisible();
  await page.goto("/settings");
  await alive(page);
  await expect(choice).toBeChecked();
  await choice.uncheck();
  await openCalls(page, call("add", { a: 1, b: 2 }));
  await page.mouse.move(0, 0);
  await expect(page.getByTestId("tool-call")).toBeVisible();
  await expect(result).toBeHidden();
});

test("the preview of a call shows its input and output", async ({ page, baseURL }) => {
  await showPreviews(page, baseURL);
  const rows = JSON.stringify({ rows: Array.from({ length: 500 }, (_, row) => `row ${row}`) });
  await openCalls(
    page,
    call("add", { a: 12.5, b: 7.25 }, { output: "19.75", duration_ms: 340 }),
    call("mean", { of: [1, 2] }, { output: '{"result": 1.50}' }),
    call("search", { query: "x", path: "/", limit: 3 }, { output: rows }),
    call("divide", { a: 1, b: 0 }, { status: "error", output: null, error: "invalid_b: division by zero\nTry another." }),
    call("mail", {}, { status: "cancelled", output: null }),
  );
  const lines = page.getByTestId("tool-call");
  await expect(lines.nth(0)).toHaveText(/^add\s*12\.5, 7\.25\s*→\s*19\.75\s*done\s*340 ms$/);
  await expect(lines.nth(1).locator(".tool-result")).toHaveText("1.50");
  await expect(lines.nth(2).locator(".tool-summary")).toHaveText("query: x, path: /, limit: 3");
  const long = (await lines.nth(2).locator(".tool-result").textContent())!;
  expect(long).toMatch(/^\{"rows":\["row 0","row 1".*…$/);
  expect(long.length).toBeLessThan(130);
  await expect(lines.nth(3).locator(".tool-result")).toHaveText("invalid_b: division by zero Try another.");
  await expect(lines.nth(3)).toHaveAccessibleName(/divide.*invalid_b: division by zero.*failed/);
  await expect(lines.nth(4).locator(".tool-result")).toHaveCount(0);
});

test("on a phone, the preview shows the output instead of the input", async ({ page, baseURL }) => {
  await showPreviews(page, baseURL);
  await page.setViewportSize({ width: 360, height: 640 });
  await openCalls(page, call("add", { a: "1".repeat(50), b: "2".repeat(50) }, { output: "19.75" }));
  const result = page.locator(".tool-result");
  await expect(result).toBeInViewport();
  expect(await result.evaluate((shown) => shown.scrollWidth - shown.clientWidth), "the full output is visible").toBeLessThanOrEqual(1);
  expect(await page.locator("#thread").evaluate((area) => area.scrollWidth - area.clientWidth)).toBe(0);
});

test("a line shows when its call started and ended, and a group when all calls did", async ({ page }) => {
  const calls = [
    call("add", { a: 1, b: 2 }, { started_at: "2026-11-01T09:05:07Z", duration_ms: 2_000 }),
    call("add", { a: 3, b: 4 }, { started_at: "2026-11-01T09:05:06Z", duration_ms: 500 }),
  ];
  await open(page, conversation("Times", [["Go", { content: "Done.", calls }]]));
  const group = page.getByTestId("tool-group");
  await expect(group).toHaveText(/^2 tool calls\s*add ×2\s*2\.5s$/);
  await expect(group).toHaveAccessibleDescription("Ran from 9:05:06 to 9:05:09");
  await expect(group.locator("svg.tally path"), "a tally stroke per call").toHaveCount(2);
  await group.click();
  const first = page.getByTestId("tool-call").first();
  await expect(first).toHaveAccessibleDescription("Ran from 9:05:07 to 9:05:09");
  await first.click();
  await expect(page.getByTestId("tool-call-details")).toContainText("Ran from 9:05:07 to 9:05:09");
});

test("a group shows the number of calls, not of names", async ({ page }) => {
  const names = ["add", "multiply", "add", "divide", "subtract"];
  const failed = { status: "error", output: null, error: "no" } as const;
  const calls = names.map((name) => call(name, { a: 1 }, name === "divide" ? failed : {}));
  await open(page, conversation("Five", [["Go", { content: "Done.", calls }]]));
  const group = page.getByTestId("tool-group");
  await expect(group).toHaveText(/^5 tool calls\s*add ×2, multiply, divide, …\s*1 failed/);
  await expect(group.locator("svg.tally path")).toHaveCount(5);
  await expect(group.locator("svg.tally .failed")).toHaveCount(1);
});

test("a caret is at the end of the text, also in a list", async ({ page }) => {
  const { turn, clock } = await playTurnByClock(page);
  const blocks = page.locator('article[data-role="assistant"] .part *');
  const carets = () =>
    blocks.evaluateAll((all) => all.filter((block) => getComputedStyle(block, "::after").content === '""').map((block) => block.outerHTML));
  let offset = 0;
  for (const [delta, caret] of [
    ["It is:", "<p>It is:</p>"],
    ["\n\n1. One", "<li>One</li>"],
    ["\n\n2. Two", "<p>Two</p>"],
    ["\n   - Three", "<li>Three</li>"],
  ] as const) {
    await turn.say("content_delta", { offset, delta });
    offset += delta.length;
    // The part of the page that draws answers may still be loading, so the clock moves on until the text is drawn.
    const drawn = async () => {
      await clock.runFor(100);
      return carets();
    };
    await expect.poll(drawn).toEqual([caret]);
  }
});

test("a running answer shows that it is active", async ({ page }) => {
  const { turn, clock } = await playTurnByClock(page);
  const answer = page.locator('article[data-role="assistant"]');
  await expect(answer.getByRole("status")).toHaveText("Thinking…");
  await clock.runFor(2_500);
  await expect(answer.locator(".thinking-seconds")).toBeEmpty();
  await clock.runFor(3_000);
  await expect(answer.locator(".thinking-seconds")).toHaveText("5s");

  const caret = () =>
    answer.locator(".part > :last-child").last().evaluate((block) => getComputedStyle(block, "::after").content);
  await turn.say("content_delta", { offset: 0, delta: "It is" });
  await clock.runFor(100);
  await expect(answer).toContainText("It is");
  expect(await caret(), "the caret is where the next text will appear").toBe('""');
  // Screen readers do not announce live regions inside a busy element.
  await expect(answer.locator(".prose")).toHaveAttribute("aria-busy", "true");
  await expect(page.locator("[aria-busy=true] [role=status], [aria-busy=true] [role=alert]")).toHaveCount(0);
  await turn.say("tool_call_start", { tool_call_id: 1, tool_name: "add", input: { a: 1 }, offset: 5 });
  await clock.runFor(100);
  await expect(page.getByTestId("tool-call")).toBeVisible();
  expect(await caret(), "now the answer waits for the call").toBe("none");
  await expect(page.locator("[aria-busy=true] [role=status]")).toHaveCount(0);
});
