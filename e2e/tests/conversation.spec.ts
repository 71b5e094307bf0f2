// Tests a complete conversation: the user asks for a calculation, and everything about it is still there afterwards.

import { ChatPage, alive, toolCalls, watchAnswer } from "../kit/chat.ts";
import { expect, test } from "../kit/test.ts";

// Slow enough that even a browser that has just started draws the beginning of the answer before its end.
test.use({ demoPaceMs: 250 });

const QUESTION = "What is (12.5 + 7.25) × 4?";

test("a calculation is answered live, its tool calls can be opened, and a reload shows the same", async ({ page }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  await alive(page);
  const watched = await watchAnswer(page);

  const answer = await chat.send(QUESTION);
  await expect(answer).toContainText("79");
  await expect(answer).toHaveAttribute("data-status", "complete");
  await expect(page.getByTestId("send")).toBeVisible();

  const texts = await watched();
  const answered = texts.findIndex((text) => text.includes("79"));
  expect(answered, `the answer grows before the user's eyes: ${texts.join(" → ")}`).toBeGreaterThan(1);

  await test.step("each tool call is one collapsed line, opened by a click or a key", async () => {
    // Adjacent finished calls are grouped. The reader opens the group.
    await answer.getByTestId("tool-group").click();
    const calls = toolCalls(answer);
    const last = calls.last();
    await expect(calls).not.toHaveCount(0);
    for (const call of await calls.all()) {
      await expect(call).toHaveAttribute("data-status", "success");
      await expect(call).toHaveAttribute("aria-expanded", "false");
    }
    const details = answer.getByTestId("tool-call-details");
    await expect(details).toBeHidden();

    await last.click();
    await expect(last).toHaveAttribute("aria-expanded", "true");
    await expect(details).toContainText(/input/i);
    await expect(details).toContainText("4");
    await expect(details).toContainText(/output/i);
    await expect(details).toContainText("79");
    await last.click();
    await expect(details).toBeHidden();

    for (const key of ["Enter", "Space"]) {
      await last.press(key);
      await expect(last).toHaveAttribute("aria-expanded", "true");
      await expect(details).toBeVisible();
      await last.press(key);
      await expect(last).toHaveAttribute("aria-expanded", "false");
      await expect(details).toBeHidden();
    }
    await answer.getByTestId("tool-group").click();
  });

  const path = new URL(page.url()).pathname;
  expect(path).toMatch(/^\/c\/[0-9a-f-]{36}$/);

  await test.step("the sidebar lists the conversation", async () => {
    const link = page.getByTestId("sidebar").getByTestId("conversation-link").and(page.locator(`[href="${path}"]`));
    await expect(link).toBeVisible();
    await expect(link).not.toHaveText("");
  });

  const transcript = await chat.transcript();
  expect(transcript).toHaveLength(2);
  expect(transcript[0]).toContain(QUESTION);

  await test.step("a reload shows the same interactive transcript", async () => {
    await page.reload();
    await alive(page);
    expect(await chat.transcript()).toEqual(transcript);
    await page.getByTestId("tool-group").click();
    await toolCalls(chat.answers.last()).last().click();
    await expect(page.getByTestId("tool-call-details")).toContainText("79");
  });

  await test.step("the sidebar opens the conversation again", async () => {
    await page.goto("/");
    await alive(page);
    await page.getByTestId("sidebar").locator(`[href="${path}"]`).click();
    await expect(page).toHaveURL(path);
    await expect.poll(() => chat.transcript()).toEqual(transcript);
  });

  await test.step("the page contains the conversation before any script runs", async () => {
    const context = await page.context().browser()!.newContext({ javaScriptEnabled: false });
    const bare = await context.newPage();
    await bare.goto(page.url());
    expect(await new ChatPage(bare).transcript()).toEqual(transcript);
    await expect(bare.getByTestId("composer"), "the message field is not interactive yet").toBeDisabled();
    await expect(bare.getByTestId("composer"), "it is empty, and shows its placeholder").toHaveValue("");
    await context.close();
  });
});

test("a conversation continues, and each answer follows its question", async ({ page }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  await chat.ask("What is 0.1 + 0.2?");
  await chat.ask("What is 6 × 7?");
  const transcript = await chat.transcript();
  expect(transcript).toHaveLength(4);
  expect(transcript[1]).toContain("0.3");
  expect(transcript[3]).toContain("42");
  await page.reload();
  await alive(page);
  expect(await chat.transcript()).toEqual(transcript);
});
