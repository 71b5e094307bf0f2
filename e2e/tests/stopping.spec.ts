// Tests Stop: it always ends the turn, no matter how early it is pressed, and it cannot be pressed by mistake.

import { ChatPage } from "../kit/chat.ts";
import { gate } from "../kit/model.ts";
import { expect, test } from "../kit/test.ts";

// Slow enough that there is an answer to stop.
test.use({ demoPaceMs: 400 });

const QUESTION = "What is (1 + 2) × (3 + 4) + (5 + 6) × (7 + 8)?";

test("Stop works before the server has responded", async ({ page }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  await chat.ask("1 + 1?");
  const held = gate();
  await page.route("**/messages", async (route) => {
    await held.opened;
    await route.continue();
  });
  await page.getByTestId("composer").fill(QUESTION);
  await page.getByTestId("send").click();
  await page.getByTestId("stop").click();
  await expect(page.getByTestId("stop")).toBeDisabled();
  await expect(page.getByTestId("composer"), "the button is about to disappear").toBeFocused();
  held.open();
  await expect(chat.answers.nth(1)).toHaveAttribute("data-status", "stopped");
  await expect(page.getByTestId("send")).toBeVisible();
});

test("Stop while a conversation is being created restores the message", async ({ page }) => {
  const held = gate();
  await page.route("**/api/conversations", async (route) => {
    await held.opened;
    await route.continue();
  });
  const chat = new ChatPage(page);
  await page.goto("/");
  await page.getByTestId("composer").fill(QUESTION);
  await page.getByTestId("send").click();
  await page.getByTestId("stop").click();
  held.open();
  await expect(page.getByTestId("composer")).toHaveValue(QUESTION);
  await expect(page.getByTestId("send")).toBeEnabled();
  await expect(chat.messages).toHaveCount(0);
});

test("a double click on Send stops nothing", async ({ page }) => {
  const stops: string[] = [];
  page.on("request", (request) => {
    if (request.url().endsWith("/stop")) stops.push(request.url());
  });
  const chat = new ChatPage(page);
  await page.goto("/");
  await page.getByTestId("composer").fill("What is 2 + 3?");
  await page.getByTestId("send").dblclick();
  await expect(chat.answers.first()).toHaveAttribute("data-status", "complete");
  expect(stops).toEqual([]);
});

test("Esc closes open elements from the top, and then stops the answer", async ({ page }) => {
  const stops: string[] = [];
  await page.route("**/stop", (route) => {
    stops.push(route.request().url());
    return route.continue();
  });
  const chat = new ChatPage(page);
  await page.goto("/");
  const answer = await chat.send(QUESTION);
  await expect(answer).toHaveAttribute("data-status", "streaming");
  await page.getByTestId("conversation-menu").click();
  await expect(page.getByTestId("markdown")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByTestId("markdown")).toBeHidden();

  await page.setViewportSize({ width: 360, height: 640 });
  await page.getByTestId("open-sidebar").click();
  await expect(page.getByTestId("search")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByTestId("search")).toBeHidden();
  expect(stops).toEqual([]);
  await expect(answer).toHaveAttribute("data-status", "streaming");

  await page.setViewportSize({ width: 1200, height: 800 });
  await page.getByTestId("composer").fill("The next thing");
  await page.keyboard.press("Escape");
  await expect(answer, "also with a draft").toHaveAttribute("data-status", "stopped");
  expect(stops).toHaveLength(1);
  await expect(page.getByTestId("composer")).toHaveValue("The next thing");
});

test("after Ctrl+K no key is lost, and Esc closes the palette before it stops the answer", async ({ page }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  const answer = await chat.send(QUESTION);
  await expect(answer).toHaveAttribute("data-status", "streaming");
  // Presses the key and reads the focus without a frame in between, as for a fast typist.
  await page.evaluate(() => {
    const press = { key: "k", ctrlKey: true, bubbles: true, cancelable: true };
    document.activeElement!.dispatchEvent(new KeyboardEvent("keydown", press));
    document.body.dataset.heard = (document.activeElement as HTMLElement).dataset.testid;
  });
  await expect(page.locator("body")).toHaveAttribute("data-heard", "palette-field");
  await page.keyboard.press("Escape");
  await expect(page.getByTestId("palette")).toBeHidden();
  await expect(answer).toHaveAttribute("data-status", "streaming");
  await page.keyboard.press("Escape");
  await expect(answer).toHaveAttribute("data-status", "stopped");
});
