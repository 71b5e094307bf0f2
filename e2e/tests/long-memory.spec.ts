// Tests a conversation that is longer than the model's context window. The model still answers, and the page shows from which
// message on the model received the full text.

import { expect, test } from "../kit/test.ts";

const settings = { LLM_CONTEXT_TOKENS: "8000", LLM_MAX_TOKENS: "500", LLM_TITLES: "false" };
test.use({ scripted: true, locale: "ja-JP", trace: "off", settings });

test("a conversation of 400 messages is answered, and the note is where the model's full text begins", async ({ page, request }) => {
  const { uuid } = await (await request.post("/api/conversations", { data: { title: "Long" } })).json();
  // The model gives the same text to every request, whether for an answer or for a summary.
  for (let turn = 0; turn < 200; turn++) {
    const content = `Question ${turn}: what would you say to this?`;
    const answer = await request.post(`/api/conversations/${uuid}/messages`, { data: { content } });
    expect(await answer.text()).toContain("event: message_end");
  }
  const { messages } = await (await request.get(`/api/conversations/${uuid}`)).json();
  expect(messages).toHaveLength(400);
  const { told: context } = messages[399];
  expect(context.summary).toBe("No answer was written for this request.");
  await page.goto(`/c/${uuid}#message-${context.from}`);
  const note = page.getByTestId("told");
  await expect(note).toBeInViewport();
  await expect(note.locator("summary")).toHaveText("以前のメッセージは、モデルのコンテキストに収まるように要約されました");
  expect(await note.evaluate((one) => one.closest("article")?.id)).toBe(`message-${context.from}`);
});
