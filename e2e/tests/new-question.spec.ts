// Tests that a new question moves to the top, and that its answer grows below it.

import { ChatPage, alive, boxOf, mounted } from "../kit/chat.ts";
import { converse } from "../kit/converse.ts";
import { expect, test } from "../kit/test.ts";

test.use({ demoPaceMs: 0 });

test("the question moves to the top, nothing jumps at the end, and no unneeded space stays", async ({ page, request }) => {
  await page.setViewportSize({ width: 900, height: 700 });
  const chat = new ChatPage(page);
  await page.goto(await converse(request, 8));
  const thread = page.locator("#thread");
  const room = () => page.locator(".room").evaluate((room) => room.clientHeight);
  await alive(page);
  expect(await room(), "an open conversation has no extra space").toBe(0);

  const answer = await chat.ask("What is 2 + 3?");
  const question = chat.messages.last().locator("xpath=preceding-sibling::article[1]");
  const top = async () => (await boxOf(question)).y - (await boxOf(thread)).y;
  await expect.poll(top, "at the top").toBeLessThan(8);
  await expect(answer.getByTestId("copy-answer")).toBeVisible();
  expect(await top()).toBeGreaterThan(-8);
  expect(await room()).toBeGreaterThan(0);
  await expect(page.getByTestId("jump")).toHaveCount(0);

  await thread.hover();
  await page.mouse.wheel(0, -100_000);
  await expect.poll(room, "scrolling up removes the extra space").toBe(0);
  await page.getByTestId("jump").click();
  await expect(answer.getByTestId("copy-answer")).toBeInViewport();

  await page.reload();
  await alive(page);
  expect(await room()).toBe(0);
});

test("there is no gap between the last message and the message field", async ({ page, request }) => {
  const chat = new ChatPage(page);
  await page.goto(await converse(request, 8));
  await alive(page);
  const gap = async () => {
    const end = await boxOf(chat.messages.last());
    return (await boxOf(page.locator(".dock"))).y - (end.y + end.height);
  };
  await mounted(page);
  await expect.poll(gap, "its end is in view").toBeGreaterThanOrEqual(0);
  expect(await gap(), "when the conversation opens").toBeLessThan(48);
  await chat.ask(`What is 2 + 3?\n${"Line\n".repeat(60)}`);
  await page.reload();
  await mounted(page);
  await expect.poll(gap, "its end is in view").toBeGreaterThanOrEqual(0);
  expect(await gap(), "after a long message").toBeLessThan(48);
});

test("a long message of the user is folded", async ({ page }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  await page.getByTestId("composer").fill(`What is 2 + 3?\n${"line\n".repeat(40)}the end`);
  await page.getByTestId("send").click();
  await expect(chat.answers).toHaveAttribute("data-status", "complete");
  const bubble = page.locator(".bubble-text");
  const fold = page.getByTestId("fold");
  await expect(fold).toHaveAttribute("aria-expanded", "false");
  const height = async () => (await boxOf(bubble)).height;
  const folded = await height();
  await fold.press("Enter");
  await expect(fold).toHaveAttribute("aria-expanded", "true");
  expect(await height()).toBeGreaterThan(2 * folded);
  await expect(fold).toBeFocused();
  await fold.press("Enter");
  expect(await height()).toBe(folded);
  await page.reload();
  await expect(fold, "also in the server-rendered page").toHaveAttribute("aria-expanded", "false");
});
