// Playing an answer again: it grows as it did, can be stopped, stepped through and gone about in, by hand and by keys.

import { NOTHING, findings } from "../kit/axe.ts";
import { ChatPage, toolCalls } from "../kit/chat.ts";
import { expect, test } from "../kit/test.ts";

test.use({ scripted: true, settings: { LLM_TITLES: "false" } });

test("an answer is played again, step by step", async ({ page, model }) => {
  model.answer(["Let me see.", { tool: "add", input: '{"a":1,"b":20.5}' }]);
  model.answer(["It is **21.5**."]);
  const chat = new ChatPage(page);
  await page.goto("/");
  await chat.ask("What is 1 + 20.5?");
  await page.getByTestId("play-again").click();
  const sheet = page.getByTestId("playback");
  const toggle = sheet.getByTestId("playback-toggle");
  const answer = sheet.locator(".message");
  await expect(answer, "it plays to its end").toHaveAttribute("data-status", "complete");
  await expect(toggle).toHaveText("Play");
  await expect(answer.locator("strong")).toHaveText("21.5");
  expect(await findings(page, "[data-testid=playback]")).toEqual(NOTHING);

  const place = sheet.getByTestId("playback-place");
  await place.focus();
  await page.keyboard.press("Home");
  await expect(answer.locator("strong")).toHaveCount(0);
  const seen: string[] = [];
  for (let step = 0; step < 20 && (await answer.getAttribute("data-status")) !== "complete"; step++) {
    await sheet.getByTestId("playback-on").click();
    seen.push((await answer.locator(".prose").allTextContents()).join("|"));
  }
  await expect(answer.locator("strong"), "so few steps lead to the end").toHaveText("21.5");
  expect(seen.some((text) => text === "Let me see."), `the first words come before the rest: ${seen.join(" / ")}`).toBe(true);
  await sheet.getByTestId("playback-back").click();
  await expect(answer).toHaveAttribute("data-status", "streaming");
  await expect(toolCalls(answer)).toHaveCount(1);
  await page.keyboard.press("Escape");
  await expect(sheet).toHaveCount(0);
});
