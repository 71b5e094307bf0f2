// Tests what the page says while the user waits, how it announces the end of an answer, usage, reduced motion, and small screens.

import { ChatPage, boxOf, openGroups } from "../kit/chat.ts";
import { playTurn, playTurnByClock, scriptTurn, started } from "../kit/live.ts";
import { call, conversation, open } from "../kit/seed.ts";
import { expect, test } from "../kit/test.ts";

const NOTHING = { input_tokens: 0, output_tokens: 0, cached_tokens: 0 };

test("a long wait shows its duration", async ({ page }) => {
  const { turn, clock } = await playTurnByClock(page);
  const answer = new ChatPage(page).answers.last();
  await expect(answer.getByText("Thinking…")).toBeVisible();
  await clock.runFor(8_500);
  await expect(answer.getByText("Thinking…")).toBeVisible();
  await clock.runFor(1_000);
  await expect(answer).toContainText("Still waiting…9s");
  await clock.runFor(3_000);
  await expect(answer).toContainText("Still waiting…12s");

  const end = { assistant_message_id: 2, content: "", tool_calls: [], status: "complete", stop_reason: "end_turn" };
  await turn.say("message_end", { ...end, usage: NOTHING });
  await expect(answer).toContainText("Finished with no output.");
  await expect(page.getByTestId("usage"), "an empty count is not shown").toHaveCount(0);
  await expect(page.getByText("The answer is complete.")).toBeAttached();
});

for (const [end, words] of [
  [{ status: "complete", stop_reason: "end_turn" }, "The answer is complete."],
  [{ status: "complete", stop_reason: "max_tokens" }, "The answer ended before it was complete."],
  [{ status: "complete", stop_reason: "model_length" }, "The answer ended before it was complete."],
  [{ status: "interrupted", stop_reason: null }, "The answer ended before it was complete."],
  [{ status: "stopped", stop_reason: null }, "The answer was stopped."],
] as const) {
  test(`the end of an answer is announced to screen readers: ${end.status}, ${end.stop_reason}`, async ({ page }) => {
    const turn = await playTurn(page);
    await turn.say("message_end", { assistant_message_id: 2, content: "So far", tool_calls: [], ...end, usage: NOTHING });
    await expect(page.getByRole("status").filter({ hasText: /^The answer/ })).toHaveText(words);
  });
}

test("the end of an answer does not move the focus", async ({ page }) => {
  const turn = await playTurn(page);
  const composer = page.getByTestId("composer");
  await expect(composer, "the focus stays in the message field after sending").toBeFocused();
  await composer.blur();
  const end = { assistant_message_id: 2, content: "Done", tool_calls: [], status: "complete", stop_reason: "end_turn" };
  await turn.say("message_end", { ...end, usage: NOTHING });
  await expect(page.getByTestId("stop")).toHaveCount(0);
  // If the page moved the focus, it would do so in the next frame.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await expect(composer).not.toBeFocused();
});

test("a failed answer is announced to screen readers", async ({ page }) => {
  const turn = await playTurn(page);
  await turn.say("error", { assistant_message_id: 2, code: "model_busy", error: "The provider is busy." });
  await expect(page.getByRole("status").filter({ hasText: /^The answer/ })).toHaveText("The answer failed.");
});

test("screen readers hear the words of a line separately", async ({ page }) => {
  const review = { tool_call_id: 0, model: "Sonnet (2026-11)", verdict: "abstain", reason: "Its answer was no JSON.", duration_ms: 9 };
  const one = call("add", { a: 1 });
  one.reviews = [{ ...review, tool_call_id: one.tool_call_id }];
  await open(page, conversation("Sums", [["Add", { content: "Done.", calls: [one] }]]));
  const line = page.getByTestId("tool-call");
  expect(await line.evaluate((line) => line.textContent)).toMatch(/add 1 → 79 done 3\.4s/);
  await line.click();
  expect(await page.getByTestId("reviews").evaluate((list) => list.textContent)).toBe("Sonnet (2026-11) abstains Its answer was no JSON.");
});

test("with reduced motion, activity is shown without movement", async ({ page }) => {
  const turn = await playTurn(page);
  await turn.say("tool_call_start", { tool_call_id: 1, tool_name: "crawl", input: {}, offset: 0 });
  const spinner = page.getByTestId("tool-call").locator(".spinner");
  await expect(spinner).toBeVisible();
  const moving = () =>
    page.evaluate(() => document.getAnimations().filter((animation) => animation.playState === "running").length);
  expect(await moving()).toBeGreaterThan(0);
  await page.emulateMedia({ reducedMotion: "reduce" });
  await expect(spinner).toBeVisible();
  await expect.poll(moving).toBe(0);
});

test("an answer shows its usage, and the conversation the total", async ({ page }) => {
  const turn = await scriptTurn(page);
  const usage = { input_tokens: 1200, output_tokens: 300, cached_tokens: 0 };
  const costs = conversation("Costs", [["One", { content: "First.", usage }], ["Two", { content: "Second." }]]);
  await open(page, costs);
  await expect(page.getByTestId("usage")).toHaveText(["1,200 tokens in · 300 out"]);
  // Only one answer reports its usage, so no total is shown.
  await expect(page.getByTestId("usage-in-all")).toHaveCount(0);

  await page.getByTestId("composer").fill("Three");
  await page.getByTestId("send").click();
  const { messages } = costs as { messages: { id: number }[] };
  const follows = { parent_id: messages.at(-1)?.id, user_message_id: 9001, assistant_message_id: 9002 };
  await turn.say("message_start", { ...started, ...follows });
  const end = { assistant_message_id: 9002, content: "Third.", tool_calls: [], status: "complete", stop_reason: null };
  await turn.say("message_end", { ...end, usage: { input_tokens: 34, output_tokens: 5, cached_tokens: 0 } });
  await expect(page.getByTestId("usage")).toHaveText(["1,200 tokens in · 300 out", "34 tokens in · 5 out"]);
  await expect(page.getByTestId("usage-in-all")).toHaveText("Total: 1,234 tokens in · 305 out");
});

test("each example sends its question, and the demo model introduces itself", async ({ page }) => {
  const answer = new ChatPage(page).answers.last();
  const outcomes = [
    ["79", "success"],
    ["121932631124828532112482853211126352690", "success"],
    ["45", "success"],
  ] as const;
  for (const [at, [words, outcome]] of outcomes.entries()) {
    await page.goto("/");
    await expect(page.getByTestId("demo-notice")).toContainText("only does arithmetic");
    await expect(page.getByTestId("example")).toHaveCount(3);
    await page.getByTestId("example").nth(at).click();
    await expect(answer).toContainText(words);
    await expect(answer).toHaveAttribute("data-status", "complete");
    await openGroups(answer);
    await expect(answer.getByTestId("tool-call").last()).toHaveAttribute("data-status", outcome);
  }
});

test("at 360 pixels, everything fits and touch targets are large enough", async ({ page }) => {
  await page.setViewportSize({ width: 360, height: 640 });
  const long = "x".repeat(300);
  const calls = [
    call(`tool_${long}`, { [long]: long, nested: { [long]: [long] } }, { output: long }),
    call("add", { a: 1 }, { status: "error", output: null, error: long }),
  ];
  const content = `${long}\n\n| a | b | c | d | e | f |\n|-|-|-|-|-|-|\n| ${long.slice(0, 40)} | 2 | 3 | 4 | 5 | 6 |\n\n\`\`\`\n${long}\n\`\`\``;
  await open(page, conversation(long, [[long, { content, calls }]]));
  await page.getByTestId("tool-group").click();
  await expect(page.getByTestId("tool-call")).not.toHaveCount(0);
  for (const line of await page.getByTestId("tool-call").all()) await line.click();
  const width = await page.evaluate(() => {
    const boxes = [...document.querySelectorAll(".thread, .messages, .message, .dock, .tool, .header")];
    return Math.max(document.documentElement.scrollWidth, ...boxes.map((box) => box.getBoundingClientRect().right));
  });
  expect(width).toBeLessThanOrEqual(360);
  // Wide content scrolls within its own box. The list of messages does not scroll sideways.
  const thread = page.locator("#thread");
  expect(await thread.evaluate((area) => area.scrollWidth - area.clientWidth)).toBe(0);
  for (const line of await page.locator(".tool-line").all()) {
    expect((await boxOf(line)).height).toBeGreaterThanOrEqual(44);
  }
});
