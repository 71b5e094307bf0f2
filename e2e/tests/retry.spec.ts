// Tests that the user can retry a failed answer with one click.

import { ChatPage } from "../kit/chat.ts";
import { expect, test } from "../kit/test.ts";

// The model is unreachable: nothing listens on the discard port.
test.use({ settings: { LLM_PROVIDER: "openai", LLM_BASE_URL: "http://127.0.0.1:9/v1", LLM_MAX_RETRIES: "0" } });

test("a failed answer has a Retry button, and is kept next to the new version", async ({ page }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  const answer = await chat.send("What is 1 + 2?");
  await expect(answer).toHaveAttribute("data-status", "failed");
  await answer.getByTestId("retry").click();
  await expect(answer.getByTestId("version")).toHaveText("2/2");
  await expect(answer).toHaveAttribute("data-status", "failed");
  await expect(chat.messages).toHaveCount(2);
  await answer.getByTestId("older-version").click();
  await expect(answer.getByTestId("version")).toHaveText("1/2");
  await expect(answer.getByTestId("retry")).toBeVisible();
});
