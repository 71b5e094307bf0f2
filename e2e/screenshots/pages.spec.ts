// The pictures of the README: one conversation, light and dark, wide and narrow.

import { join } from "node:path";
import { ChatPage, toolCalls } from "../kit/chat.ts";
import { expect, test } from "../kit/test.ts";

const FOLDER = join(import.meta.dirname, "../../docs/images");

const SIZES = {
  wide: { width: 1200, height: 800 },
  narrow: { width: 390, height: 800 },
};

test("pictures", async ({ page }) => {
  const chat = new ChatPage(page);
  await page.setViewportSize(SIZES.wide);
  await page.goto("/");
  await expect(page.getByTestId("composer")).toBeEnabled();
  await picture("start");

  await chat.ask("What is 7 ÷ 0?");
  await page.goto("/");
  const answer = await chat.ask("What is (12.5 + 7.25) × 4?");
  await answer.getByTestId("tool-group").click();
  await toolCalls(answer).last().click();
  await expect(answer.getByTestId("tool-call-details")).toBeVisible();
  await picture("conversation");

  async function picture(name: string): Promise<void> {
    for (const colorScheme of ["light", "dark"] as const) {
      for (const [size, viewport] of Object.entries(SIZES)) {
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        await page.setViewportSize(viewport);
        const path = join(FOLDER, `${name}-${colorScheme}-${size}.png`);
        await page.screenshot({ path, animations: "disabled", caret: "hide" });
      }
    }
    await page.setViewportSize(SIZES.wide);
  }
});
