// Tests that unfinished texts survive a closed tab, a reload, and changes in other tabs.

import type { Page } from "@playwright/test";
import { ChatPage, alive } from "../kit/chat.ts";
import { openWaiting, pay, waiting } from "../kit/approval.ts";
import { gate } from "../kit/model.ts";
import { expect, test } from "../kit/test.ts";

test.use({ scripted: true, settings: { LLM_TITLES: "false" } });

async function* held(words: string, until: Promise<void>) {
  yield words;
  await until;
}

/** Opens a page, waits until it is interactive, and returns its message field. */
async function fieldOf(page: Page, address: string) {
  await page.goto(address);
  await alive(page);
  return page.getByTestId("composer");
}

test("a draft survives its tab", async ({ page, context }) => {
  const field = await fieldOf(page, "/");
  await field.fill("Half a thought");
  await page.close();
  const other = await context.newPage();
  await expect(await fieldOf(other, "/")).toHaveValue("Half a thought");
});

test("two tabs show the newest text, and the one that is typed in keeps its own", async ({ page, context }) => {
  const here = await fieldOf(page, "/");
  const other = await context.newPage();
  const there = await fieldOf(other, "/");
  await here.fill("Older");
  // Headless browsers give every tab the focus.
  await here.blur();
  await there.fill("Older, and newer");
  await expect(here).toHaveValue("Older, and newer");
  await here.pressSequentially("!");
  await there.fill("Written at the same time");
  await here.pressSequentially("?");
  await expect(here).toHaveValue("Older, and newer!?");
  await there.blur();
  await here.pressSequentially(".");
  await expect(there, "the last change wins").toHaveValue("Older, and newer!?.");
  await page.reload();
  await expect(here).toHaveValue("Older, and newer!?.");
});

test("a draft that equals the last question is restored", async ({ page, model }) => {
  const chat = new ChatPage(page);
  model.answer(["First answer."]);
  await page.goto("/");
  await chat.ask("Again");
  const address = page.url();
  await page.getByTestId("composer").fill("Again");
  await page.getByTestId("new-chat").click();
  await expect(page).toHaveURL("/");
  await page.goto(address);
  await alive(page);
  await expect(chat.answers).toHaveAttribute("data-status", "complete");
  await expect(page.getByTestId("composer")).toHaveValue("Again");
});

test("an edited question is restored after a reload, in the message field if the question is gone", async ({ page, context, model, request }) => {
  const chat = new ChatPage(page);
  const field = page.getByTestId("edit-field");
  model.answer(["First answer."]);
  await page.goto("/");
  await chat.ask("One");
  const question = page.locator('article[data-role="user"]').first();
  await question.getByTestId("edit").click();
  await field.fill("One, but better");
  await page.reload();
  await expect(field).toHaveValue("One, but better");

  const other = new ChatPage(await context.newPage());
  await other.page.goto(page.url());
  await alive(other.page);
  // The other tab has the same edit open. It overwrites the text and sends it, so another version of the question is shown.
  model.answer(["Another answer."]);
  await other.page.getByTestId("edit-field").fill("Another");
  await other.page.getByTestId("edit-field").press("Enter");
  await expect(other.answers).toContainText("Another answer.");
  await expect(page.getByTestId("composer")).toHaveValue("One, but better");
  await expect(page.getByTestId("notice")).toHaveText("The message you were editing is no longer shown. Your text is in the message field.");
  await expect(field).toHaveCount(0);

  await question.getByTestId("edit").click();
  await field.fill("Once more");
  expect((await request.delete(chat.api())).ok()).toBe(true);
  await expect(page.getByTestId("go-on-in-new-chat")).toBeVisible();
  await expect(page.getByTestId("composer")).toHaveValue("Once more\nOne, but better");
});

test("an edited queued message is restored after a reload", async ({ page, model }) => {
  const chat = new ChatPage(page);
  const first = gate();
  model.answer(held("First answer.", first.opened));
  model.answer(["Second answer."]);
  await page.goto("/");
  await chat.send("One");
  await expect(chat.answers).toContainText("First answer.");
  await page.getByTestId("composer").fill("Two");
  await page.keyboard.press("Enter");
  await page.getByTestId("queue-edit").click();
  const change = page.getByTestId("queue-field");
  await change.fill("Two, but better");
  await page.reload();
  await expect(change).toHaveValue("Two, but better");
  await change.press("Enter");
  await expect(page.getByTestId("queued")).toHaveText(["Two, but better"]);
  first.open();
  await expect(chat.answers.nth(1)).toContainText("Second answer.");
});

test("the edited input of a call is restored after a reload", async ({ page }) => {
  const stored = waiting(pay(5));
  await openWaiting(page, stored);
  const edit = page.getByTestId("change-input");
  const field = page.getByTestId("input-field");
  await edit.click();
  await field.fill('{"amount": 4}');
  // This loads the page again, and opens the conversation in it.
  await openWaiting(page, stored);
  await expect(edit).toHaveText("Continue editing the input");
  await edit.click();
  await expect(field).toHaveValue('{"amount": 4}');
  await page.getByTestId("leave-input").click();
  await expect(edit).toHaveText("Edit input");
});

test("unsaved instructions are restored until they are discarded", async ({ page }) => {
  const field = page.getByTestId("instructions");
  await page.goto("/settings");
  await field.fill("Answer in rhymes.");
  await expect(page.getByTestId("instructions-unsaved")).toBeVisible();
  await page.getByTestId("new-chat").click();
  await expect(page).toHaveURL("/");
  await page.goto("/settings");
  await expect(field).toHaveValue("Answer in rhymes.");
  await page.getByTestId("discard-instructions").click();
  await expect(field).toHaveValue("");
  await page.reload();
  await expect(field).toHaveValue("");
  await expect(page.getByTestId("instructions-unsaved")).toHaveCount(0);
});

test("the Undo button of a deletion does not take the focus from a typing user", async ({ page, model }) => {
  const chat = new ChatPage(page);
  model.answer(["First answer."]);
  await page.goto("/");
  await chat.ask("One");
  await page.getByTestId("composer").fill("Half");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("delete this");
  await page.keyboard.press("Enter");
  const undo = page.getByTestId("undo");
  await expect(undo).toBeVisible();
  await expect(page.getByTestId("composer")).toBeFocused();
  await page.keyboard.type(" a thought");
  await expect(page.getByTestId("composer")).toHaveValue("Half a thought");
  await expect(undo).toBeVisible();
  await undo.focus();
  await page.keyboard.press("Enter");
  await expect(undo).toHaveCount(0);
});
