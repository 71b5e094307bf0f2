// Tests the message field: it grows, breaks lines, sends, and ignores keys that belong to an input method.

import { ChatPage, alive, boxOf } from "../kit/chat.ts";
import { scriptTurn, started, withoutFeed } from "../kit/live.ts";
import { expect, test } from "../kit/test.ts";

test("the message field grows with its text, up to a height from which it scrolls", async ({ page }) => {
  await page.goto("/");
  const field = page.getByTestId("composer");
  await expect(field).toBeFocused();
  // Once the page is interactive, it does not replace the field during the measurement.
  await alive(page);
  const height = async () => (await boxOf(page.locator(".composer-field"))).height;
  const one = await height();
  await page.keyboard.type("One line");
  expect(await height()).toBe(one);
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("and another");
  await expect(field).toHaveValue("One line\nand another");
  const two = await height();
  expect(two).toBeGreaterThan(one);
  await field.fill("A line\n".repeat(500));
  const tallest = await height();
  expect(tallest).toBeGreaterThan(two);
  expect(tallest).toBeLessThan(page.viewportSize()!.height / 2);
  await expect(page.getByTestId("send")).toBeInViewport();
  await field.fill("");
  expect(await height()).toBe(one);
});

test("Enter sends, except at the end of an IME composition or in an empty field", async ({ page }) => {
  await withoutFeed(page);
  const turn = await scriptTurn(page);
  await page.goto("/");
  const field = page.getByTestId("composer");
  const messages = new ChatPage(page).messages;
  await expect(field).toBeFocused();
  await expect(page.getByTestId("send")).toBeDisabled();
  await page.keyboard.press("Enter");
  await field.fill(" \n ");
  await expect(page.getByTestId("send")).toBeDisabled();
  await expect(page.getByTestId("send"), "and the button says why").toHaveAttribute("title", "Write a message first");
  await expect(field, "the hint explains Enter").toHaveAccessibleDescription("Enter to send · Shift+Enter for a new line");

  await field.fill("計算して");
  // The events that Chromium reports while an input method composes, and Safari right after a composition.
  for (const how of [{ isComposing: true }, { keyCode: 229 }]) await field.dispatchEvent("keydown", { key: "Enter", ...how });
  await expect(field).toHaveValue("計算して");
  await expect(messages).toHaveCount(0);

  await page.keyboard.press("Enter");
  await expect(field).toHaveValue("");
  await turn.say("message_start", { ...started, content: "計算して" });
  await expect(messages.first()).toContainText("計算して");
  await expect(page.getByTestId("stop"), "Stop replaces Send").toBeVisible();
  await expect(page.getByTestId("send")).toHaveCount(0);
  const later = "Enter to send when the answer ends · Shift+Enter for a new line";
  await expect(field, "also while an answer is written").toHaveAccessibleDescription(later);
  await field.fill("The next");
  await page.keyboard.press("Enter");
  await expect(field).toHaveValue("");
  await expect(page.getByTestId("queued"), "a message that is sent meanwhile is queued").toHaveText("The next");
});

test("a click on Send keeps the focus in the message field", async ({ page }) => {
  await page.goto("/");
  const field = page.getByTestId("composer");
  await field.fill("What is 1 + 2?");
  await page.getByTestId("send").click();
  await expect(field, "while the answer is written").toBeFocused();
  await expect(new ChatPage(page).answers).toHaveAttribute("data-status", "complete");
  await expect(page).toHaveURL(/\/c\//);
  await expect(field, "and after it").toBeFocused();
});

test("New chat, a conversation and an example move the focus to the message field", async ({ page }) => {
  const chat = new ChatPage(page);
  const field = page.getByTestId("composer");
  await page.goto("/");
  await expect(field).toBeFocused();
  await page.getByTestId("example").first().click();
  await page.keyboard.type("While it answers");
  await expect(field).toHaveValue("While it answers");
  await expect(chat.answers).toHaveAttribute("data-status", "complete");
  const row = page.locator(`.conversation-row [href="${new URL(page.url()).pathname}"]`);

  await page.getByTestId("new-chat").click();
  await page.keyboard.type("Something new");
  await expect(page).toHaveURL("/");
  await expect(field).toHaveValue("Something new");
  await page.getByTestId("new-chat").click();
  await page.keyboard.type(", and more");
  await expect(field, "also in the open chat").toHaveValue("Something new, and more");
  await row.click();
  await page.keyboard.type(", as I said");
  await expect(field).toHaveValue("While it answers, as I said");

  // With the keyboard, the focus stays on the row, so that the user can move on to the next row.
  await page.getByTestId("new-chat").focus();
  await page.keyboard.press("Enter");
  await expect(field, "a new chat focuses the message field").toBeFocused();
  await row.press("Enter");
  await expect(field).toHaveValue("While it answers, as I said");
  await expect(row).toBeFocused();
});

test("drafts stay with their conversation", async ({ page }) => {
  const chat = new ChatPage(page);
  const field = page.getByTestId("composer");
  await page.goto("/");
  await chat.ask("What is 20 + 1?");
  const row = page.locator(`[href="${new URL(page.url()).pathname}"]`);
  await field.fill("And what about");
  await page.getByTestId("new-chat").click();
  await expect(page.getByTestId("example").first()).toBeVisible();
  await expect(field).toHaveValue("");
  await field.fill("Something else,\nand more");
  await row.click();
  await expect(field).toHaveValue("And what about");
  await page.reload();
  await expect(field).toHaveValue("And what about");
  await page.getByTestId("new-chat").click();
  await expect(field).toHaveValue("Something else,\nand more");
  // A sent text is no longer a draft. An example sends only itself: the draft of the new chat moves to the conversation that begins.
  await page.getByTestId("example").first().click();
  await expect(chat.answers).toHaveAttribute("data-status", "complete");
  await page.reload();
  await expect(field).toHaveValue("Something else,\nand more");
  await page.getByTestId("new-chat").click();
  await expect(page.getByTestId("example").first()).toBeVisible();
  await expect(field).toHaveValue("");
});
