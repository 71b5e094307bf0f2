// An answer belongs to the server: a page that goes away in the middle of it and comes back misses nothing.

import type { Route } from "@playwright/test";
import { ChatPage, toolCalls, untimedText, watchAnswer } from "../kit/chat.ts";
import { expect, test } from "../kit/test.ts";

// Slow enough that a reload falls into the middle of the answer's last sentence.
test.use({ demoPaceMs: 600 });

const QUESTION = "What is (1 + 2) × (3 + 4) + (5 + 6) × (7 + 8) + 9?";

test("a reload in the middle of an answer shows all of it, once and in order", async ({ page, context }) => {
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
  expect((await watched()).length, "the answer goes on before the reader's eyes").toBeGreaterThan(1);

  await expect(expected).toHaveAttribute("data-status", "complete");
  const whole = await untimedText(expected);
  expect(whole).toContain("195");
  expect(await untimedText(answer)).toBe(whole);
  expect(await toolCalls(answer).count()).toBe(await toolCalls(expected).count());
  await expect(chat.messages).toHaveCount(2);
});

test("what was sent stays, whatever befalls the connection before the answer begins", async ({ page, request }) => {
  const chat = new ChatPage(page);
  const trouble = "This cannot be kept for now.";
  // The message arrives, the stream of its answer does not.
  const posts: Promise<unknown>[] = [];
  await page.route("**/messages", async (route) => {
    const sent = route.request();
    posts.push(request.post(sent.url(), { data: sent.postDataJSON() }));
    const conversation = sent.url().replace(/\/messages$/, "");
    const running = async () => (await (await request.get(conversation)).json()).active_message_id;
    await expect.poll(running).toEqual(expect.any(Number));
    await route.fulfill({ contentType: "text/event-stream", body: ": hello\n\n" });
  });
  // The first to read again is told that it cannot be served, in a frame without id.
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
  expect(posts, "it is sent once").toHaveLength(1);
});
