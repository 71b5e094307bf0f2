// Tests permanent links to messages: copying them, opening them wherever the message is, and the notice if the message is gone.

import { ChatPage, act, alive } from "../kit/chat.ts";
import { converse, question } from "../kit/converse.ts";
import { gate } from "../kit/model.ts";
import { expect, test } from "../kit/test.ts";

test.use({ demoPaceMs: 0, contextOptions: { permissions: ["clipboard-read", "clipboard-write"] } });

/** Returns the row ids of a conversation's messages, oldest first. */
async function ids(request: import("@playwright/test").APIRequestContext, address: string): Promise<number[]> {
  const conversation = await (await request.get(`/api${address.replace("/c/", "/conversations/")}`)).json();
  return conversation.messages.map(({ id }: { id: number }) => id);
}

test("a copied link opens its message, also far up, and Back returns", async ({ page, request }) => {
  const address = await converse(request, 30);
  const all = await ids(request, address);
  await page.goto(address);
  await alive(page);

  await test.step("the link is copied", async () => {
    await act(page.locator("article[data-role]").last(), "copy-link");
    // A click in a message that is not interactive yet takes effect when it is.
    const copied = () => page.evaluate(() => navigator.clipboard.readText());
    await expect.poll(copied).toBe(`${new URL(page.url()).origin}${address}#message-${all.at(-1)}`);
  });

  await test.step("a loaded message is scrolled into view, marked and focused", async () => {
    await page.goto("/");
    const here = all[40]!;
    await page.goto(`${address}#message-${here}`);
    const message = page.locator(`#message-${here}`);
    await expect(message).toHaveAttribute("data-goal", "");
    await expect(message).toBeFocused();
    await expect(message).toBeInViewport();
    await expect(page.getByTestId("jump")).toBeVisible();
  });

  await test.step("a message that is not loaded yet is loaded without a page load", async () => {
    const far = all[2]!;
    await page.evaluate((fragment) => (location.hash = fragment), `message-${far}`);
    const message = page.locator(`#message-${far}`);
    await expect(message).toContainText(question(1));
    await expect(message).toBeFocused();
    await expect(message).toBeInViewport();
    await expect(page.locator("[data-goal]")).toHaveCount(1);
    await page.goBack();
    await expect(page.locator(`#message-${all[40]}`)).toBeFocused();
  });

  await test.step("a page that is opened with the link shows the message", async () => {
    await page.goto("about:blank");
    await page.goto(`${address}#message-${all[1]}`);
    await expect(page.locator(`#message-${all[1]}`)).toBeFocused();
    await expect(page.locator(`#message-${all[1]}`)).toBeInViewport();
  });
});

test("the page announces that it opens the message, and that this failed", async ({ page, request, tolerated }) => {
  tolerated.push(/Failed to load resource/);
  const address = await converse(request, 28);
  const [first] = await ids(request, address);
  const held = gate();
  await page.route(/before=/, async (route) => {
    await held.opened;
    await route.abort();
  });
  await page.goto(`${address}#message-${first}`);
  await expect(page.getByText("Opening the message…")).toBeVisible();
  held.open();
  await expect(page.getByTestId("notice")).toContainText("cannot be reached");
  await expect(page.getByText("Opening the message…")).toHaveCount(0);
});

test("a deleted message is reported as deleted", async ({ page, request, tolerated }) => {
  tolerated.push(/Failed to load resource/);
  const address = await converse(request, 1);
  await page.goto(`${address}#message-99999999`);
  await expect(page.getByTestId("notice")).toContainText("This message was not found.");
  await expect(new ChatPage(page).messages).toHaveCount(2);
});

test("a link to a message of another version selects that version", async ({ page, request }) => {
  const address = await converse(request, 1);
  const [, answer] = await ids(request, address);
  await page.goto(address);
  const chat = new ChatPage(page);
  await chat.messages.first().getByTestId("edit").click();
  await page.getByTestId("edit-field").fill("What is 5 + 6?");
  await page.keyboard.press("Enter");
  await expect(chat.answers.last()).toContainText("11");
  await expect(chat.answers.last()).toHaveAttribute("data-status", "complete");
  await page.goto("about:blank");
  await page.goto(`${address}#message-${answer}`);
  await expect(page.locator(`#message-${answer}`)).toBeFocused();
  await expect(chat.messages.first()).toContainText(question(0));
});

test("each message shows its time, and an answer its model", async ({ page, request }) => {
  const address = await converse(request, 1);
  await page.goto(address);
  const times = page.locator(".message-footer time");
  await expect(times).toHaveCount(2);
  const shown = await times.last().evaluate((time: HTMLTimeElement) => [time.dateTime, time.title, time.textContent]);
  expect(Date.now() - Date.parse(shown[0]!)).toBeLessThan(60_000);
  expect(shown[1]).toContain(String(new Date().getFullYear()));
  expect(shown[2]).toMatch(/^\d{1,2}:\d\d\s?(AM|PM)?$/);
  await expect(page.getByTestId("author")).toHaveText("demo");
  // A message that arrives live has its time, too.
  await new ChatPage(page).ask("What is 2 + 3?");
  await expect(times).toHaveCount(4);
});
