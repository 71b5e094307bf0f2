// Tests what users can do with a conversation during a turn.

import type { Locator, Page } from "@playwright/test";
import { ChatPage, alive } from "../kit/chat.ts";
import { gate } from "../kit/model.ts";
import { chooseInMenu } from "../kit/sidebar.ts";
import { expect, test } from "../kit/test.ts";

// Slow enough to leave time for actions during the turn.
test.use({ demoPaceMs: 250 });

const QUESTION = "What is (1 + 2) × (3 + 4)?";

/** Returns the list row of the conversation at an address. */
function rowOf(page: Page, address: string): Locator {
  return page.locator(".conversation-row").filter({ has: page.locator(`[href="${new URL(address).pathname}"]`) });
}

test("branching is disabled during a turn, and each button says why", async ({ page }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  await chat.ask("1 + 1?");
  const running = await chat.send("What is (1 + 2) × (3 + 4) + (5 + 6) × (7 + 8) + 9?");
  await expect(running).toHaveAttribute("data-status", "streaming");
  const edit = page.locator('article[data-role="user"]').first().getByTestId("edit");
  for (const button of [chat.answers.first().getByTestId("regenerate"), edit]) {
    await expect(button).toHaveAttribute("aria-disabled", "true");
    await expect(button).toHaveAttribute("title", /Wait until/);
    await button.press("Enter");
  }
  await expect(page.getByTestId("edit-field")).toHaveCount(0);
  await expect(running).toHaveAttribute("data-status", "complete");
  await expect(chat.messages).toHaveCount(4);
  await expect(edit).not.toHaveAttribute("aria-disabled", "true");
});

for (const place of ["list", "header"] as const) {
  test(`updates during a turn do not interrupt renaming in the ${place}`, async ({ page, request }) => {
    const chat = new ChatPage(page);
    await page.goto("/");
    const answer = await chat.send(QUESTION);
    await expect(answer).toHaveAttribute("data-status", "streaming");
    if (place === "list") {
      await chooseInMenu(rowOf(page, page.url()), "rename");
    } else {
      await page.getByTestId("conversation-menu").click();
      await page.getByTestId("menu-rename").click();
    }
    const field = page.getByTestId("rename-field");
    await expect(field).toBeFocused();
    await page.keyboard.type("My own wo");
    await expect(answer).toHaveAttribute("data-status", "complete");
    // Another client changes the title meanwhile.
    const heading = page.getByRole("heading", { level: 1, name: "From elsewhere" });
    await request.patch(chat.api(), { data: { title: "From elsewhere" } });
    await expect(heading).toBeAttached();
    await page.keyboard.type("rds");
    await expect(field).toHaveValue("My own words");
    await page.keyboard.press("Enter");
    await expect(page.getByTestId("conversation-link").first()).toHaveText("My own words");
  });
}

test("reordered rows keep the field in which the user renames a conversation", async ({ page, request }) => {
  const make = async (title: string) => (await (await request.post("/api/conversations", { data: { title } })).json()).uuid;
  const [lowest, renamed] = [await make("Lowest"), await make("Renamed")];
  await make("Highest");
  await page.goto("/");
  await alive(page);
  // The list may contain other conversations below these three.
  const firstThree = async () => (await page.getByTestId("conversation-link").allTextContents()).slice(0, 3);
  expect(await firstThree()).toEqual(["Highest", "Renamed", "Lowest"]);
  await chooseInMenu(rowOf(page, `${page.url()}c/${renamed}`), "rename");
  const field = page.getByTestId("rename-field");
  await expect(field).toBeFocused();
  await page.keyboard.type("My own wo");
  const running = page.getByRole("img", { name: "Answering now" });
  const answered = request.post(`/api/conversations/${lowest}/messages`, { data: { content: QUESTION } });
  await expect(running, "the lowest conversation is answered").toHaveCount(1);
  await answered;
  await expect(running).toHaveCount(0);
  await page.keyboard.type("rds");
  await expect(field).toBeFocused();
  await expect(field).toHaveValue("My own words");
  await page.keyboard.press("Enter");
  await expect.poll(firstThree, "and then the rows are reordered").toEqual(["Lowest", "Highest", "My own words"]);
});

test("a conversation that was deleted before its renaming does not block other updates", async ({ page, request }) => {
  const make = async (title: string) => (await (await request.post("/api/conversations", { data: { title } })).json()).uuid;
  const gone = await make("Soon gone");
  await page.goto("/");
  await alive(page);
  const row = rowOf(page, `${page.url()}c/${gone}`);
  await expect(row.getByTestId("row-menu")).toBeEnabled();
  await row.getByTestId("row-menu").press("Enter");
  // The press may wait for the code of the list.
  await expect(page.getByTestId("rename")).toBeVisible();
  await request.delete(`/api/conversations/${gone}`);
  await expect(row).toHaveCount(0);
  await page.getByTestId("rename").press("Enter");
  await make("Comes after");
  await expect(page.getByTestId("conversation-link").first()).toHaveText("Comes after");
});

test("a list response from before the end of an answer does not mark it as running", async ({ page }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  await chat.ask("1 + 1?");
  const held = gate();
  let isHeld = false;
  let lists = 0;
  await page.route(/\/api\/conversations\?/, async (route) => {
    lists += 1;
    const response = await route.fetch();
    isHeld = true;
    await held.opened;
    await route.fulfill({ response });
  });
  const answer = await chat.send(QUESTION);
  await expect.poll(() => isHeld).toBe(true);
  const running = page.getByRole("img", { name: "Answering now" });
  await expect(running).toHaveCount(1);
  await expect(answer).toHaveAttribute("data-status", "complete");
  await expect(running).toHaveCount(0);
  const listed = page.waitForResponse(/\/api\/conversations\?/);
  held.open();
  await listed;
  await chat.ask("2 + 2?");
  await expect(running).toHaveCount(0);
  expect(lists, "the list is requested once per message").toBe(2);
});

test("the end of an answer whose conversation was deleted is not announced", async ({ page, request }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  await chat.send(QUESTION);
  await expect(page).toHaveURL(/\/c\//);
  await expect(page.getByTestId("stop")).toBeVisible();
  await page.evaluate(() => {
    const heard: string[] = [];
    new MutationObserver(() => {
      for (const status of document.querySelectorAll('[role="status"]')) heard.push(status.textContent ?? "");
    }).observe(document.body, { childList: true, characterData: true, subtree: true });
    Object.assign(window, { heard });
  });
  await request.delete(chat.api());
  await expect(page.getByTestId("deleted-notice")).toContainText("deleted in another tab or on another device");
  const heard = await page.evaluate(() => (window as unknown as { heard: string[] }).heard);
  expect(heard.filter((text) => text.startsWith("The answer"))).toEqual([]);
});
