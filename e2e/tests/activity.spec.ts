// Tests the status line of an answer that makes no visible progress: the provider is retried, or a tool call is being written.

import { playTurnByClock } from "../kit/live.ts";
import { expect, test } from "../kit/test.ts";

test("retries and a call that is being written are shown until the answer continues", async ({ page }) => {
  const { turn, clock } = await playTurnByClock(page);
  const answer = page.locator('article[data-role="assistant"]');
  const said = answer.getByRole("status");
  const beside = answer.locator(".thinking-seconds");
  await expect(said).toHaveText("Thinking…");

  await turn.say("model_retry", { code: "model_busy", attempt: 2, attempts: 3, delay_ms: 14_000 });
  await clock.runFor(100);
  await expect(said).toHaveText("The provider is busy.");
  await expect(beside).toHaveText("Retrying in 14 s (2 of 3)");
  await clock.runFor(4_000);
  await expect(beside).toHaveText("Retrying in 10 s (2 of 3)");

  for (const [code, words] of [
    ["model_unreachable", "The provider cannot be reached."],
    ["model_failing", "The provider is having problems."],
    ["model_bad_stream", "The model's response was cut short."],
  ]) {
    await turn.say("model_retry", { code, attempt: 3, attempts: 3, delay_ms: 14_000 });
    await clock.runFor(100);
    await expect(said, code).toHaveText(words!);
  }

  await turn.say("tool_call_preparing", { tool_name: "write_file", bytes: 48_000 });
  await clock.runFor(100);
  await expect(said).toHaveText("Preparing a call to write_file…");
  await expect(beside).toHaveText("48 kB");

  await turn.say("content_delta", { offset: 0, delta: "Let me write." });
  await clock.runFor(100);
  await expect(answer).toContainText("Let me write.");
  await expect(said).toHaveCount(0);
  // A call can also be announced after text.
  await turn.say("tool_call_preparing", { tool_name: "add", bytes: 0 });
  await clock.runFor(100);
  await expect(said).toHaveText("Preparing a call to add…");
  await turn.say("tool_call_start", { tool_call_id: 1, tool_name: "add", input: { a: 1 }, offset: 13 });
  await clock.runFor(100);
  await expect(page.getByTestId("tool-call")).toBeVisible();
  await expect(answer.getByText("Preparing a call")).toHaveCount(0);
});

test("late drawing does not truncate an answer that has ended meanwhile", async ({ page }) => {
  const { turn, clock } = await playTurnByClock(page);
  const answer = page.locator('article[data-role="assistant"]');
  const content = "It is **19.75**, and nothing is missing.";
  // The clock is stopped between the two events, so the first half is not drawn before the answer ends.
  await turn.say("content_delta", { offset: 0, delta: "It is **19" });
  await turn.say("message_end", { assistant_message_id: 2, content, status: "complete", tool_calls: [], usage: { input_tokens: 1, output_tokens: 2, cached_tokens: 0 } });
  for (let frames = 0; frames < 3; frames++) {
    await clock.runFor(100);
    await expect(answer).toHaveAttribute("data-status", "complete");
    await expect(answer.locator(".prose")).toHaveText("It is 19.75, and nothing is missing.");
  }
});
