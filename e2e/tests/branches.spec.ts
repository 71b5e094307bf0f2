// Tests versions of questions and answers: no version is lost, and every tab shows the same version.

import { readFile } from "node:fs/promises";
import type { Locator } from "@playwright/test";
import { ChatPage, alive, boxOf } from "../kit/chat.ts";
import { conversation, open } from "../kit/seed.ts";
import { expect, test } from "../kit/test.ts";

const FIRST = "What is 1 + 2?";
const SECOND = "What is 6 × 7?";

/** Returns the label that shows the current version of a message. */
function version(message: Locator): Locator {
  return message.getByTestId("version");
}

test("an answer can be regenerated, and a key shows the previous version", async ({ page, context }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  await chat.ask(FIRST);
  await chat.ask(SECOND);
  const other = new ChatPage(await context.newPage());
  await other.page.goto(page.url());
  await expect(other.messages).toHaveCount(4);

  const answer = chat.answers.first();
  await expect(version(answer)).toHaveCount(0);
  await answer.getByTestId("regenerate").click();
  await expect(version(answer)).toHaveText("2/2");
  await expect(answer).toHaveAttribute("data-status", "complete");
  await expect(chat.messages).toHaveCount(2);
  await expect(version(other.answers.first())).toHaveText("2/2");
  await expect(other.messages).toHaveCount(2);

  await test.step("versions can be switched with the keyboard alone", async () => {
    await answer.getByTestId("older-version").press("Enter");
    await expect(version(answer)).toHaveText("1/2");
    await expect(chat.messages).toHaveCount(4);
    await expect(answer.getByTestId("older-version")).toBeDisabled();
    await expect(answer.getByTestId("newer-version")).toBeFocused();
    await page.keyboard.press("Enter");
    await expect(version(answer)).toHaveText("2/2");
    await expect(chat.messages).toHaveCount(2);
    await expect(answer.getByTestId("older-version")).toBeFocused();
    await page.keyboard.press("Enter");
    await expect(chat.messages).toHaveCount(4);
  });

  await test.step("a reload and the other tab show the selected branch", async () => {
    await expect(version(other.answers.first())).toHaveText("1/2");
    const transcript = await chat.transcript();
    await expect.poll(() => other.transcript()).toEqual(transcript);
    await page.reload();
    await alive(page);
    expect(await chat.transcript()).toEqual(transcript);
  });
});

test("a question can be edited in place, and the edit can be canceled", async ({ page }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  await chat.ask(FIRST);
  await chat.ask(SECOND);
  const before = await chat.transcript();
  const question = page.locator('article[data-role="user"]').first();

  await question.getByTestId("edit").click();
  await expect(page.getByTestId("edit-field")).toBeFocused();
  await expect(page.getByTestId("edit-field")).toHaveValue(FIRST);
  await page.keyboard.type(" Never mind");
  await page.keyboard.press("Escape");
  await expect(question.getByTestId("edit")).toBeFocused();
  expect(await chat.transcript()).toEqual(before);

  await page.keyboard.press("Enter");
  await page.getByTestId("edit-field").fill("What is 2 + 3?");
  await page.keyboard.press("Enter");
  await expect(version(question)).toHaveText("2/2");
  await expect(chat.messages).toHaveCount(2);
  await expect(question).toContainText("What is 2 + 3?");
  await expect(chat.answers.first()).toHaveAttribute("data-status", "complete");
  await expect(chat.answers.first()).toContainText("5");

  await expect(page.getByTestId("composer"), "the next key press is not lost").toBeFocused();
  await test.step("the version switcher is visible next to the bubble", async () => {
    await page.mouse.move(0, 0);
    const back = question.getByTestId("newer-version");
    await expect(back.locator(".icon")).toBeVisible();
    const [version, bubble] = [await boxOf(back), await boxOf(question.locator(".bubble"))];
    expect(bubble.x - version.x - version.width).toBeLessThan(16);
  });

  await question.getByTestId("older-version").click();
  await expect(chat.messages).toHaveCount(4);
  await expect(question).toContainText(FIRST);
  await expect(chat.answers.last()).toContainText("42");
});

test("the up arrow in the empty message field edits the last question, and Escape returns to the field", async ({ page }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  await chat.ask(FIRST);
  await chat.ask(SECOND);
  const [field, edit] = [page.getByTestId("composer"), page.getByTestId("edit-field")];
  // The form appears within a frame.
  const drawn = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await field.fill("Half a thought");
  await page.keyboard.press("ArrowUp");
  await drawn();
  await expect(edit, "the key moves in the text").toHaveCount(0);
  await field.fill("");
  await page.keyboard.press("Shift+ArrowUp");
  for (const how of [{ isComposing: true }, { keyCode: 229 }]) await field.dispatchEvent("keydown", { key: "ArrowUp", ...how });
  await drawn();
  await expect(edit, "modifiers and input methods").toHaveCount(0);

  await page.keyboard.press("ArrowUp");
  await expect(edit).toBeFocused();
  await expect(edit).toHaveValue(SECOND);
  await expect(page.locator('article[data-role="user"]').last().getByTestId("edit-field")).toHaveCount(1);
  await page.keyboard.press("Escape");
  await expect(edit).toHaveCount(0);
  await expect(field).toBeFocused();

  await page.keyboard.press("ArrowUp");
  await edit.fill("What is 2 + 3?");
  await page.keyboard.press("Enter");
  await expect(version(page.locator('article[data-role="user"]').last())).toHaveText("2/2");
  await expect(chat.answers.last()).toHaveAttribute("data-status", "complete");
  await expect(chat.answers.last()).toContainText("5");
  await expect(field).toBeFocused();
});

test("a shorter version has no jump button", async ({ page }) => {
  const lines = Array.from({ length: 80 }, (_, line) => `Line ${line}.`).join("\n\n");
  const answered = (content: string, place: number) => conversation("Two", [["Go", { content, version: [place, 2] }]]);
  const [short, long] = [answered("Yes.", 1), answered(lines, 2)];
  await open(page, long);
  await page.route("**/select**", (route) => route.fulfill({ json: short }));
  await page.getByTestId("older-version").click();
  await expect(page.locator('article[data-role="assistant"]')).toContainText("Yes.");
  await expect(page.getByTestId("jump")).toHaveCount(0);
});

test("the exported conversation contains the selected branch", async ({ page }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  await expect(page.getByTestId("conversation-menu"), "there is nothing to export yet").toHaveCount(0);
  await chat.ask(FIRST);
  for (const [format, name] of [
    ["markdown", "What-is-1-2.md"],
    ["json", "What-is-1-2.json"],
  ] as const) {
    await page.getByTestId("conversation-menu").click();
    const download = page.waitForEvent("download");
    await page.getByTestId(format).click();
    const file = await download;
    expect(file.suggestedFilename()).toBe(name);
    const content = await readFile(await file.path(), "utf8");
    expect(content).toContain(FIRST);
    expect(content).toContain("add");
    await page.keyboard.press("Escape");
    await expect(page.getByTestId(format)).toBeHidden();
  }
});
