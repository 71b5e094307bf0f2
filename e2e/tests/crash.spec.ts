// Tests a server that is killed in the middle of an answer: the page shows by itself that the answer was interrupted, and resumes it.

import { ChatPage, untimedText } from "../kit/chat.ts";
import { expect, test } from "../kit/test.ts";

// Slow enough that the server is killed in the middle of the answer's last sentence.
test.use({ demoPaceMs: 600 });

// The tests are independent and mostly wait, so all workers take tests from this file.
test.describe.configure({ mode: "parallel" });

const QUESTION = "What is (1 + 2) × (3 + 4)?";

test("an answer that a crash interrupted resumes", async ({ page, server, tolerated }) => {
  tolerated.push(/net::ERR_/);
  const chat = new ChatPage(page);
  await page.goto("/");
  const undisturbed = await untimedText(await chat.ask(QUESTION));
  expect(undisturbed).toContain("21");

  const answer = await chat.send(QUESTION);
  await expect(answer).toContainText("Done:");
  await expect(answer).toHaveAttribute("data-status", "streaming");
  await server.kill();
  await expect(page.getByText(/Reconnecting/)).toBeVisible();
  await server.restart();

  await expect(answer).toHaveAttribute("data-status", "interrupted");
  await page.getByTestId("continue").click();
  await expect(answer).toHaveAttribute("data-status", "complete");
  await expect(page.getByTestId("continue")).toHaveCount(0);
  await expect.poll(() => untimedText(answer)).toBe(undisturbed);
  const shown = await chat.transcript();
  await page.reload();
  await expect(chat.messages).toHaveCount(4);
  expect(await chat.transcript()).toEqual(shown);
  expect(await untimedText(await chat.ask("2 + 3?"))).toContain("5");
});

test("a stopped answer resumes, also in a page that was rendered after the stop", async ({ page, context }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  const answer = await chat.send(QUESTION);
  await expect(answer).toContainText("Done:");
  await page.getByTestId("stop").click();
  await expect(answer).toHaveAttribute("data-status", "stopped");
  // In this tab, the server rendered the answer as ended.
  const elsewhere = new ChatPage(await context.newPage());
  await elsewhere.page.goto(page.url());
  await expect(elsewhere.page.getByTestId("continue")).toBeVisible();
  await page.getByTestId("continue").click();
  await expect(page.getByTestId("composer"), "the button is gone, and the next key press is not lost").toBeFocused();
  await expect(answer, "while the answer continues").toHaveAttribute("data-status", "streaming");
  await expect(answer).toHaveAttribute("data-status", "complete");
  await expect(answer).toContainText("21");
  await expect(elsewhere.answers.first()).toHaveAttribute("data-status", "complete");
  expect(await elsewhere.transcript()).toEqual(await chat.transcript());
});
