// Several tabs on one conversation.

import { ChatPage } from "../kit/chat.ts";
import { expect, test } from "../kit/test.ts";

test.use({ demoPaceMs: 250 });

const QUESTION = "What is (1 + 2) × (3 + 4)?";

test("a tab that idles shows what is asked and answered in another", async ({ page, context }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  await chat.ask("1 + 1?");
  const other = new ChatPage(await context.newPage());
  await other.page.goto(page.url());
  await expect(other.messages).toHaveCount(2);
  const answer = await chat.send(QUESTION);
  await expect(other.answers.nth(1)).toHaveAttribute("data-status", "streaming");
  await expect(other.page.getByTestId("stop")).toBeVisible();
  await expect(answer).toHaveAttribute("data-status", "complete");
  await expect(other.answers.nth(1)).toHaveAttribute("data-status", "complete");
  expect(await other.transcript()).toEqual(await chat.transcript());
});

test("while a turn runs nothing branches off, and each button says why", async ({ page }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  await chat.ask("1 + 1?");
  const running = await chat.send(QUESTION);
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
