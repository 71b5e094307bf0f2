// Tests forced colors, 400 % zoom, print, and reduced motion.

import { boxOf } from "../kit/chat.ts";
import { violations } from "../kit/axe.ts";
import { playTurn } from "../kit/live.ts";
import { call, conversation, open } from "../kit/seed.ts";
import { expect, test } from "../kit/test.ts";

const USAGE = { input_tokens: 1200, output_tokens: 300, cached_tokens: 0 };
const TALK = conversation("Sums", [["What is 1 + 2?", { content: "It is 3.", calls: [call("add", { a: 1, b: 2 })], usage: USAGE }]]);

test("with forced colors, selected, spoken and ready elements are distinguishable", async ({ page }) => {
  await page.emulateMedia({ forcedColors: "active" });
  await open(page, TALK);
  await expect(page.locator(".bubble")).not.toHaveCSS("border-top-width", "0px");
  const paint = (name: string) => page.getByTestId(name).evaluate((shown) => getComputedStyle(shown).backgroundColor);
  const disabled = await paint("send");
  await page.getByTestId("composer").fill("x");
  await expect(page.getByTestId("send")).toBeEnabled();
  await expect.poll(() => paint("send"), "an enabled Send button has another color").not.toBe(disabled);
  const other = await page.getByTestId("new-chat").evaluate((shown) => getComputedStyle(shown).backgroundColor);
  expect(await paint("conversation-link"), "the open conversation is marked").not.toBe(other);
  expect(await violations(page)).toEqual([]);
});

test("at 400 % zoom, most of the height is left for the messages", async ({ page }) => {
  await open(page, TALK);
  // A window of 1280 × 720 at 400 % zoom.
  await page.setViewportSize({ width: 320, height: 180 });
  await expect.poll(async () => (await boxOf(page.locator("#thread"))).height).toBeGreaterThan(80);
  await expect(page.getByTestId("composer")).toBeInViewport({ ratio: 1 });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320);
});

test("a printed page has all messages and no controls", async ({ page }) => {
  const long = "A line of text.\n\n".repeat(200);
  await open(page, conversation("Long", [["Go", { content: `${long}The end.` }]]));
  await page.emulateMedia({ media: "print" });
  await expect(page.getByTestId("sidebar")).toBeHidden();
  await expect(page.getByTestId("composer")).toBeHidden();
  await expect(page.getByTestId("copy-answer")).toBeHidden();
  const [height, area] = await page.evaluate(() => {
    const thread = document.querySelector("#thread")!;
    return [thread.scrollHeight, thread.getBoundingClientRect().height];
  });
  expect(area, "nothing is left inside a scrolling area").toBeCloseTo(height!, 0);
});

test("a printed page has typeset formulas, no controls, and code together with its header", async ({ page }) => {
  const formulas = Array.from({ length: 60 }, (_, number) => `Line ${number}: $x_{${number}}$`).join("\n\n");
  const code = "```rust\nlet one = 1;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n";
  await open(page, conversation("Formulas", [["Go", { content: `${formulas}\n\n${code}The end.` }]]));
  const raw = page.locator(".math:not(:has(math))");
  const all = page.locator(".math");
  await expect(all).toHaveCount(60);
  await expect(all.last().locator("math"), "a formula near the viewport is typeset").toHaveCount(1);
  await expect.poll(() => raw.count(), "other formulas are not typeset yet").toBeLessThan(60);
  expect(await raw.count()).toBeGreaterThan(0);
  await page.pdf();
  await expect(raw).toHaveCount(0);
  await page.emulateMedia({ media: "print" });
  await expect(page.locator("main button.button:visible")).toHaveCount(0);
  await expect(page.locator(".code-language")).toBeVisible();
  expect(await page.locator(".code-bar").evaluate((bar) => getComputedStyle(bar).breakAfter)).toBe("avoid");
});

test("a printed page cuts nothing off, has the title, and says if earlier messages are missing", async ({ page }) => {
  const wide = "| a | b |\n|---|---|\n| 1 | 2 |\n\n```text\n" + "wide ".repeat(60) + "\n```\n\n" + "日本語の長い文章です。".repeat(20);
  const formula = "\n\n$$" + Array.from({ length: 60 }, (_, at) => `x_{${at}}`).join(" + ") + "$$";
  const calls = [call("add", { a: 1, b: 2 })];
  const turns = Array.from({ length: 30 }, (_, at): [string, object] => [`Question ${at}`, { content: wide + formula, calls }]);
  // The width of an A4 page.
  await page.setViewportSize({ width: 794, height: 1123 });
  await open(page, conversation("The title on paper", turns as Parameters<typeof conversation>[1]));
  await expect(page.locator(".print-note")).toBeHidden();
  await page.pdf();
  await page.emulateMedia({ media: "print" });
  await expect(page.locator(".print-note")).toBeVisible();
  await expect(page.getByRole("heading", { name: "The title on paper" })).toBeVisible();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(794);
});

test("with reduced motion, the tally strokes do not move", async ({ page }) => {
  await page.emulateMedia({ reducedMotion: "reduce" });
  await playTurn(page);
  const spinner = page.locator(".thinking .spinner");
  await expect(spinner).toBeVisible();
  expect(await spinner.evaluate((shown) => getComputedStyle(shown, "::before").animationName)).toBe("none");
});
