// What goes wrong is said, and the conversation goes on.

import { ChatPage, toolCalls } from "../kit/chat.ts";
import { expect, test } from "../kit/test.ts";

test("a division by zero is a failed call with its reason, and the next message works", async ({ page }) => {
  const chat = new ChatPage(page);
  await page.goto("/");

  const answer = await chat.ask("What is 7 ÷ 0?");
  const call = toolCalls(answer).last();
  await expect(call).toHaveAttribute("data-status", "error");
  await expect(answer).toContainText(/zero/i);

  await call.click();
  const details = answer.getByTestId("tool-call-details");
  await expect(details).toContainText(/error/i);
  await expect(details).toContainText(/zero/i);

  const next = await chat.ask("What is 2 + 3?");
  await expect(next).toContainText("5");
  await expect(toolCalls(next).last()).toHaveAttribute("data-status", "success");

  await page.reload();
  await expect(toolCalls(chat.answers.first()).last()).toHaveAttribute("data-status", "error");
});

test("an address that leads nowhere says so, and leads back", async ({ request }) => {
  const response = await request.get("/c/00000000-0000-4000-8000-000000000000");
  expect(response.status()).toBe(404);
  expect(response.headers()["content-type"]).toContain("text/html");
  expect(await response.text()).toContain('href="/"');
});
