// The pictures of the README: one conversation with the demo model.

import { ChatPage, alive, toolCalls } from "../kit/chat.ts";
import { expect, test } from "../kit/test.ts";
import { SIZES, picture } from "./picture.ts";

test("pictures", async ({ page }) => {
  const chat = new ChatPage(page);
  await page.setViewportSize(SIZES.wide);
  await page.goto("/");
  await alive(page);
  await picture(page, "start", [["dark", "narrow"]]);

  await chat.ask("What is 7 ÷ 0?");
  await page.goto("/");
  const answer = await chat.ask("What is (12.5 + 7.25) × 4?");
  await answer.getByTestId("tool-group").click();
  await toolCalls(answer).last().click();
  await expect(answer.getByTestId("tool-call-details")).toBeVisible();
  await picture(page, "conversation", [["light", "wide"], ["dark", "wide"], ["light", "narrow"]]);
});
