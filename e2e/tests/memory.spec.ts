// A long conversation: the page says from where on the model was told it whole, and what it was told in place of the rest.

import { rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ChatPage } from "../kit/chat.ts";
import { expect, test } from "../kit/test.ts";

const always = join(tmpdir(), `tallybook-memory-${process.pid}.toml`);

// The server is started before any hook runs. Whoever only lists the tests loads this file, too, and needs no server.
if (process.env.TEST_WORKER_INDEX !== undefined) writeFileSync(always, "[memory]\nafter_tokens = 0\n");
test.afterAll(() => rmSync(always, { force: true }));

test.describe("a summary after every answer", () => {
  test.use({ scripted: true, settings: { CONFIG_FILE: always, LLM_TITLES: "false" } });

  test("a line says that earlier messages were summed up, and opens to how", async ({ page, model, server }) => {
    const chat = new ChatPage(page);
    const summary = "They add <b>two and three</b>.\nIt is 5.";
    model.answer(["It is 5."]);
    model.answer([summary]);
    await page.goto("/");
    await chat.ask("How much is two and three?");
    const note = page.getByTestId("told");
    await expect(note).toHaveCount(0);
    // The summary is written after the answer, and nothing tells when it is there but the next one.
    const spent = async () => (await (await page.request.get("/api/me")).json()).this_month;
    await expect.poll(spent).toContainEqual(expect.objectContaining({ purpose: "summary", calls: 1 }));
    model.answer(["It is 9."]);
    model.answer(["They add up to nine."]);
    await chat.ask("And four?");
    for (const when of ["live", "reloaded"]) {
      await expect(note, when).toHaveCount(1);
      await expect(note.getByText("Earlier messages were summed up"), when).toBeVisible();
      await expect(note.locator("blockquote"), when).toBeHidden();
      await note.locator("summary").click();
      await expect(note.locator("blockquote"), when).toBeVisible();
      expect(await note.locator("blockquote").textContent(), "it is text").toBe(summary);
      // It stands between the answer that it covers and the question that was told whole.
      const order = await page.locator("article[data-role], [data-testid=told]").evaluateAll((all) => all.map((one) => one.tagName));
      expect(order, when).toEqual(["ARTICLE", "ARTICLE", "DETAILS", "ARTICLE", "ARTICLE"]);
      await page.reload();
    }
    await page.goto(`${server.url}/admin${new URL(page.url()).pathname.replace("/c/", "/conversations/")}`);
    await expect(page.getByTestId("told")).toContainText("Earlier messages were summed up for its model");
    await expect(page.getByTestId("told").locator(".text")).toHaveText(summary, { useInnerText: false });
  });
});

test.describe("a model that reads little", () => {
  const settings = { LLM_CONTEXT_TOKENS: "8000", LLM_MAX_TOKENS: "500", LLM_TITLES: "false" };
  test.use({ scripted: true, locale: "ja-JP", trace: "off", settings });

  test("a conversation of 400 messages is answered, and the line stands where the model's own reading begins", async ({ page, request }) => {
    const { uuid } = await (await request.post("/api/conversations", { data: { title: "Long" } })).json();
    // Whatever is asked, for an answer or a summary, gets the same words.
    for (let turn = 0; turn < 200; turn++) {
      const content = `Question ${turn}: what would you say to this?`;
      const answer = await request.post(`/api/conversations/${uuid}/messages`, { data: { content } });
      expect(await answer.text()).toContain("event: message_end");
    }
    const { messages } = await (await request.get(`/api/conversations/${uuid}`)).json();
    expect(messages).toHaveLength(400);
    const { told } = messages[399];
    expect(told.summary).toBe("No answer was written for this request.");
    await page.goto(`/c/${uuid}#message-${told.from}`);
    const note = page.getByTestId("told");
    await expect(note).toBeInViewport();
    await expect(note.locator("summary")).toHaveText("以前のメッセージは要約されました");
    const next = await note.evaluate((one) => one.nextElementSibling?.id);
    expect(next).toBe(`message-${told.from}`);
  });
});
