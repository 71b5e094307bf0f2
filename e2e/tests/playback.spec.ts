// Tests playback of an answer: it grows as it did, and the user can pause it, step through it and seek, by mouse and by keyboard.

import { NOTHING, findings } from "../kit/axe.ts";
import { ChatPage, act, mounted, toolCalls } from "../kit/chat.ts";
import { choose } from "../kit/listbox.ts";
import { expect, test } from "../kit/test.ts";

test.use({ scripted: true, settings: { LLM_TITLES: "false" } });

test("the user can pause playback and change its speed", async ({ page, request, model }) => {
  model.answer(["One. "]);
  const { uuid } = await (await request.post("/api/conversations", { data: {} })).json();
  const asked = await request.post(`/api/conversations/${uuid}/messages`, { data: { content: "Count" } });
  expect(await asked.text()).toContain("event: message_end");
  // Simulates a slow answer, with two seconds between events.
  let events = 0;
  await page.route(/\/playback$/, async (route) => {
    const log = await (await route.fetch()).json();
    events = log.items.length;
    const items = log.items.map((item: object, at: number) => ({ ...item, at: new Date(Date.UTC(2026, 0, 1, 0, 0, 2 * at)).toISOString() }));
    await route.fulfill({ json: { ...log, items } });
  });
  await page.route(/\/playback\?/, (route) => route.fulfill({ json: { items: [] } }));
  await page.clock.install();
  await page.goto(`/c/${uuid}`);
  await expect(page.getByTestId("more")).toBeVisible();
  // The message becomes interactive only while the clock runs.
  await mounted(page);
  await page.clock.pauseAt(Date.now() + 60_000);
  await act(page.locator("article[data-role]").last(), "play-again");
  const sheet = page.getByTestId("playback");
  const [toggle, place] = [sheet.getByTestId("playback-toggle"), sheet.getByTestId("playback-place")];
  const ms = async () => Number(await place.inputValue());
  await expect(toggle).toHaveText("Pause");
  await expect(place).toHaveAttribute("max", String(2000 * (events - 1)));
  // The position may deviate by about a frame.
  const passed = async (from: number, time: number, expected: number) => {
    await page.clock.runFor(time);
    await expect.poll(async () => Math.abs((await ms()) - from - expected)).toBeLessThan(expected / 4 + 1);
  };
  await passed(0, 1000, 1000);
  await toggle.click();
  await expect(toggle).toHaveText("Play");
  const paused = await ms();
  await passed(paused, 5000, 0);
  await choose(sheet.getByTestId("playback-speed"), "4");
  await toggle.click();
  await expect(toggle).toHaveText("Pause");
  await passed(paused, 250, 1000);
  await choose(sheet.getByTestId("playback-speed"), "0.5");
  await passed(await ms(), 1000, 500);
  await page.clock.runFor(60_000);
  await expect(toggle, "playback reaches its end").toHaveText("Play");
  await expect(sheet.locator(".message")).toContainText("One.");
  const written = new Date(Date.UTC(2026, 0, 1, 0, 0, 2 * (events - 1))).toISOString();
  await expect(sheet.locator(".message .when time"), "the time at which it was written").toHaveAttribute("datetime", written);
  await toggle.click();
  await expect.poll(ms, "and starts over").toBe(0);
  // Two clicks within one frame, pause and play, do not start a second playback.
  await toggle.evaluate((button: HTMLButtonElement) => [button.click(), button.click()]);
  await expect(toggle).toHaveText("Pause");
  await passed(0, 1000, 500);
});

test("an answer can be played back step by step", async ({ page, model }) => {
  model.answer(["Let me see.", { tool: "add", input: '{"a":1,"b":20.5}' }]);
  model.answer(["It is **21.5**."]);
  const chat = new ChatPage(page);
  await page.goto("/");
  await chat.ask("What is 1 + 20.5?");
  await act(page.locator("article[data-role]").last(), "play-again");
  const sheet = page.getByTestId("playback");
  const toggle = sheet.getByTestId("playback-toggle");
  const answer = sheet.locator(".message");
  await expect(answer, "playback reaches its end").toHaveAttribute("data-status", "complete");
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
  await expect(answer.locator("strong"), "a few steps reach the end").toHaveText("21.5");
  expect(seen.some((text) => text === "Let me see."), `the first words come before the rest: ${seen.join(" / ")}`).toBe(true);
  await sheet.getByTestId("playback-back").click();
  await expect(answer).toHaveAttribute("data-status", "streaming");
  await expect(toolCalls(answer)).toHaveCount(1);
  await page.keyboard.press("Escape");
  await expect(sheet).toHaveCount(0);
});
