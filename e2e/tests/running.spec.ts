// Versions and a running turn: nothing branches off while one runs.

import { ChatPage } from "../kit/chat.ts";
import { expect, test } from "../kit/test.ts";

test.use({ demoPaceMs: 250 });

const QUESTION = "What is (1 + 2) × (3 + 4)?";

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
