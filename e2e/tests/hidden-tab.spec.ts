// Tests the end of an answer while the tab is hidden: the title of the page, and a system notification.

import type { Page } from "@playwright/test";
import { ChatPage, alive } from "../kit/chat.ts";
import { gate } from "../kit/model.ts";
import { watchNotifications } from "../kit/notifications.ts";
import { expect, test } from "../kit/test.ts";

test.use({ scripted: true, settings: { LLM_TITLES: "false" } });

/** Makes a tab appear hidden or visible to its page. */
async function setHidden(page: Page, hidden: boolean): Promise<void> {
  await page.evaluate((hidden) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
    document.dispatchEvent(new Event("visibilitychange", { bubbles: true }));
  }, hidden);
}

test("a hidden tab's title shows that an answer has ended, and optionally a system notification", async ({ page, model }) => {
  const shown = await watchNotifications(page, "granted");
  await page.goto("/");
  await alive(page);
  await page.keyboard.press("Control+/");
  const wish = page.getByTestId("notifications");
  await expect(wish, "off by default").not.toBeChecked();
  await wish.check();
  await expect(page.locator("html")).toHaveAttribute("data-notifications", "on");
  await page.keyboard.press("Escape");

  const chat = new ChatPage(page);
  const end = gate();
  model.answer(
    (async function* () {
      yield "So far.";
      await end.opened;
    })(),
  );
  await chat.send("One");
  await expect(chat.answers).toContainText("So far.");
  await setHidden(page, true);
  end.open();
  await expect(page, "the page polls every few seconds").toHaveTitle(/^● /, { timeout: 25_000 });
  await expect.poll(shown).toHaveLength(1);
  expect((await shown())[0]).toMatch(/^The answer has ended: /);
  await setHidden(page, false);
  await expect(page).not.toHaveTitle(/●/);
  await page.reload();
  await alive(page);
  await page.keyboard.press("Control+/");
  await expect(wish).toBeChecked();
});
