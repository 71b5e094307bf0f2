// Tests that the server continues a turn without the page: a page that is reloaded or closed in the middle misses nothing.

import type { Route } from "@playwright/test";
import { ChatPage, alive, toolCalls, untimedText, watchAnswer } from "../kit/chat.ts";
import { expect, test } from "../kit/test.ts";

// Slow enough that a reload happens in the middle of the answer's last sentence.
test.use({ demoPaceMs: 600 });

// The tests are independent and mostly wait, so all workers take tests from this file.
test.describe.configure({ mode: "parallel" });

const QUESTION = "What is (1 + 2) × (3 + 4) + (5 + 6) × (7 + 8) + 9?";

test("a reload in the middle of an answer shows all its text, once and in order", async ({ page, context }) => {
  const undisturbed = new ChatPage(await context.newPage());
  await undisturbed.page.goto("/");
  const expected = await undisturbed.send(QUESTION);

  const chat = new ChatPage(page);
  await page.goto("/");
  await chat.send(QUESTION);
  const answer = chat.answers.first();
  await expect(answer).toContainText("Done:");
  await expect(answer).toHaveAttribute("data-status", "streaming");

  await page.reload();
  await expect(answer).toHaveAttribute("data-status", "streaming");
  const watched = await watchAnswer(page);
  await expect(answer).toHaveAttribute("data-status", "complete");
  expect((await watched()).length, "the answer visibly continues").toBeGreaterThan(1);

  await expect(expected).toHaveAttribute("data-status", "complete");
  const whole = await untimedText(expected);
  expect(whole).toContain("195");
  await expect.poll(() => untimedText(answer)).toBe(whole);
  expect(await toolCalls(answer).count()).toBe(await toolCalls(expected).count());
  await expect(chat.messages).toHaveCount(2);
});

test("a sent message survives connection failures before the answer starts", async ({ page, request }) => {
  const chat = new ChatPage(page);
  const trouble = "This cannot be kept for now.";
  // The server receives the message, but the page does not receive the stream of its answer.
  const posts: Promise<unknown>[] = [];
  await page.route("**/messages", async (route) => {
    const sent = route.request();
    posts.push(request.post(sent.url(), { data: sent.postDataJSON() }));
    const conversation = sent.url().replace(/\/messages$/, "");
    const running = async () => (await (await request.get(conversation)).json()).active_message_id;
    await expect.poll(running).toEqual(expect.any(Number));
    await route.fulfill({ contentType: "text/event-stream", body: ": hello\n\n" });
  });
  // The first request to subscribe again receives an error event without an id.
  const error = JSON.stringify({ error: trouble, code: "storage_unavailable" });
  const body = `event: error\ndata: ${error}\n\n`;
  const refuse = (route: Route) => route.fulfill({ contentType: "text/event-stream", body });
  await page.route(/\/api\/conversations\/[^/]+\/events/, refuse, { times: 1 });

  await page.goto("/");
  await page.getByTestId("composer").fill(QUESTION);
  await page.getByTestId("send").click();
  await expect(page.getByText(trouble)).toBeVisible();
  await expect(chat.answers.first()).toHaveAttribute("data-status", "streaming");
  await expect(page.getByText(trouble)).toBeHidden();
  await expect(chat.answers.first()).toHaveAttribute("data-status", "complete");
  await expect(chat.messages).toContainText([QUESTION, "195"]);
  await expect(page.getByTestId("composer")).toHaveValue("");
  await Promise.all(posts);
  expect(posts, "the message is sent once").toHaveLength(1);
});

test("after a reload in the middle of an answer, Stop works, and the answer stays stopped", async ({ page }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  await chat.send(QUESTION);
  const answer = chat.answers.first();
  await expect(answer).toContainText("Done:");
  await page.reload();
  await expect(answer).toHaveAttribute("data-status", "streaming");
  await page.getByTestId("stop").click();
  await expect(answer).toHaveAttribute("data-status", "stopped");
  await expect(page.getByTestId("send")).toBeVisible();
  const stopped = await untimedText(answer);
  expect(stopped).toContain("Done:");
  await page.reload();
  await expect(answer).toHaveAttribute("data-status", "stopped");
  await expect.poll(() => untimedText(answer)).toBe(stopped);
  await expect(await chat.ask("2 + 3?")).toContainText("5");
});

test("an answer continues while another conversation is open, and the list shows its row as running", async ({ page }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  await chat.send(QUESTION);
  const answer = chat.answers.first();
  await expect(answer).toContainText("Done:");
  const path = new URL(page.url()).pathname;
  const row = page.locator(".conversation-row").filter({ has: page.locator(`[href="${path}"]`) });
  const running = row.getByRole("img", { name: "Answering now" });

  await page.getByTestId("new-chat").click();
  await expect(page.getByTestId("example").first()).toBeVisible();
  await expect(page.getByTestId("send"), "no answer runs here").toBeVisible();
  await expect(running).toBeVisible();
  await row.getByTestId("conversation-link").click();
  await expect(answer).toContainText("Done:");
  await expect(answer).toHaveAttribute("data-status", "streaming");
  await expect(page.getByTestId("stop")).toBeVisible();

  await page.getByTestId("new-chat").click();
  await expect(await chat.ask("2 + 3?")).toContainText("5");
  await expect(running).toHaveCount(0);
  await row.getByTestId("conversation-link").click();
  await expect(page).toHaveURL(path);
  await expect(answer).toContainText("195");
  await expect(answer).toHaveAttribute("data-status", "complete");
  await expect(chat.messages).toHaveCount(2);
});

test("a question through the API is shown live, and stored", async ({ page, request }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  await chat.ask("1 + 1?");
  const answered = request.post(`${chat.api()}/messages`, { data: { content: QUESTION } });
  await expect(chat.messages.nth(2)).toContainText(QUESTION);
  await expect(chat.answers.last()).toHaveAttribute("data-status", "streaming");
  await expect(page.getByTestId("stop")).toBeVisible();
  await expect(chat.answers.last()).toContainText("195");
  await expect(chat.answers.last()).toHaveAttribute("data-status", "complete");
  await answered;
  const shown = await chat.transcript();
  await page.reload();
  await alive(page);
  expect(await chat.transcript()).toEqual(shown);
});

test("a page from the back-forward cache catches up", async ({ page, request }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  await chat.ask("What is 1 + 1?");
  const messages = `${chat.api()}/messages`;
  await page.reload();
  await page.goto("about:blank");
  const sent = await request.post(messages, { data: { content: "What is 2 + 2?" } });
  expect(await sent.text()).toContain("event: message_end");
  await page.goBack();
  await expect(chat.answers).toHaveCount(2);
  await expect(chat.answers.last()).toContainText("4");
});
