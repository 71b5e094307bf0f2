// Tests the note in a long conversation: it shows from which message on the model received the full text, and the summary before that.

import { rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ChatPage, holdProgram, mounted } from "../kit/chat.ts";
import { expect, test } from "../kit/test.ts";

const always = join(tmpdir(), `tallybook-memory-${process.pid}.toml`);

// Writes the file at load time, because the server starts before any hook runs. Outside of workers, Playwright loads this
// file only to list the tests, which needs no server.
if (process.env.TEST_WORKER_INDEX !== undefined) writeFileSync(always, "[memory]\nafter_tokens = 0\n");
test.afterAll(() => rmSync(always, { force: true }));

test.use({ scripted: true, settings: { CONFIG_FILE: always, LLM_TITLES: "false" } });

test("a note says that earlier messages were summarized, and opens to show the summary", async ({ page, model, server }) => {
  const chat = new ChatPage(page);
  const summary = "They add <b>two and three</b>.\nIt is 5.";
  model.answer(["It is 5."]);
  model.answer([summary]);
  await page.goto("/");
  await chat.ask("How much is two and three?");
  const note = page.getByTestId("told");
  await expect(note).toHaveCount(0);
  // The summary is written after the answer. The page shows it only with the next answer, so the test polls the usage.
  const spent = async () => (await (await page.request.get("/api/me")).json()).this_month;
  await expect.poll(spent).toContainEqual(expect.objectContaining({ purpose: "summary", calls: 1 }));
  model.answer(["It is 9."]);
  model.answer(["They add up to nine."]);
  await chat.ask("And four?");
  let release = () => {};
  for (const when of ["live", "reloaded"]) {
    await expect(note, when).toHaveCount(1);
    // prose-ok: a text of the page
    await expect(note.getByText("Earlier messages were summarized"), when).toBeVisible();
    await expect(note.locator("blockquote"), when).toBeHidden();
    await note.locator("summary").click();
    await expect(note.locator("blockquote"), when).toBeVisible();
    expect(await note.locator("blockquote").textContent(), "it is text").toBe(summary);
    // The note is at the top of the question that the model received in full, after the answer that the summary covers.
    const order = await page.locator("article[data-role], [data-testid=told]").evaluateAll((all) => all.map((one) => one.tagName));
    expect(order, when).toEqual(["ARTICLE", "ARTICLE", "ARTICLE", "DETAILS", "ARTICLE"]);
    if (when === "reloaded") break;
    release = await holdProgram(page);
    await page.reload({ waitUntil: "commit" });
  }
  release();
  await mounted(page);
  await expect(note.locator("blockquote"), "an element that was opened before the page is interactive stays open").toBeVisible();
  await page.goto(`${server.url}/admin${new URL(page.url()).pathname.replace("/c/", "/conversations/")}`);
  await expect(page.getByTestId("told")).toContainText("Earlier messages were summarized to fit the model's context");
  await expect(page.getByTestId("told").locator(".text")).toHaveText(summary, { useInnerText: false });
});
