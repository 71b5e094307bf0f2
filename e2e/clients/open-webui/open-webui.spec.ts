// Tests an unmodified Open WebUI in a real browser: creates its first account, holds a conversation, stops an answer, and
// uploads an image. Then checks what Tallybook has stored.

import { readFile } from "node:fs/promises";
import { type Page, expect, test } from "@playwright/test";
import { calls, conversation, count, key, model, newest, toolHistory, url } from "../tallybook.ts";
import { type OpenWebUi, start } from "./server.ts";

/** Timeout for the start of Open WebUI, in milliseconds. It creates its database first, and its page is large. */
const START_LIMIT_MS = 120_000;

let openWebUi: OpenWebUi;
let page: Page;

test.describe.configure({ mode: "serial" });

test.beforeAll(async ({ browser }) => {
  test.setTimeout(START_LIMIT_MS + 60_000);
  openWebUi = await start(START_LIMIT_MS);
  page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
});

test.afterAll(async () => {
  await page?.close();
  await openWebUi?.stop();
});

const picture = await readFile(new URL("../../../backend/documents/tests/fixtures/picture.png", import.meta.url));

/** Returns Open WebUI's own ID of the open chat. */
const chat = () => /\/c\/([-\w]+)/.exec(page.url())![1]!;

/** Types a message and sends it. */
async function send(words: string): Promise<void> {
  await page.locator("#chat-input").click();
  await page.keyboard.type(words);
  await page.keyboard.press("Enter");
}

test("its first account is created, and it lists the models", async () => {
  await page.goto(openWebUi.url);
  await page.getByRole("button", { name: "Get started" }).click();
  await page.getByRole("textbox", { name: "Name" }).fill("Ann");
  await page.getByRole("textbox", { name: "Email" }).fill("ann@example.org");
  await page.getByRole("textbox", { name: "Password" }).fill("a password of some length");
  await page.getByRole("button", { name: "Create Admin Account" }).click();
  // Closes the release notes of this version.
  await page.getByRole("button", { name: "Okay, Let's Go!" }).click();
  await page.getByRole("button", { name: /^Selected model/ }).click();
  await expect(page.getByRole("option", { name: `Select ${model}:plain model` })).toBeVisible();
  await page.getByRole("option", { name: `Select ${model} model` }).click();
});

test("three turns with tools are one conversation, and the calls are in the tool history of the key's owner", async () => {
  const answers = page.getByRole("log").getByRole("listitem");
  for (const [turn, [a, b, sum]] of [["0.1", "0.2", "0.3"], ["7", "8", "15"], ["1", "-1", "0"]].entries()) {
    await send(`use add ${a} ${b}`);
    const answer = answers.nth(2 * turn + 1);
    await expect(answer).toContainText(`"result":"${sum}"`);
    // Open WebUI's own status line for the tool call. Its text arrives in a stream chunk without content.
    await expect(answer.getByRole("button", { name: "Toggle status history" })).toHaveText(/add ✓/);
    await expect(page.getByText("Response complete")).toBeAttached();
  }
  expect(await count()).toBe(1);
  const { uuid, messages } = await newest();
  expect(messages.map(({ role, status }) => `${role} ${status}`)).toEqual(
    ["user complete", "assistant complete", "user complete", "assistant complete", "user complete", "assistant complete"],
  );
  const found = (await toolHistory("tool:add")).map(({ status, user, conversation }) => ({ status, user, conversation }));
  expect(found).toEqual(Array(3).fill({ status: "success", user: "root", conversation: uuid }));
});

test("requests for a title, tags and follow-up questions are direct model calls and create no conversation", async () => {
  await expect.poll(() => calls("plain")).toBeGreaterThanOrEqual(3);
  expect(await count()).toBe(1);
});

test("a second request on a busy chat is answered, and Stop in Open WebUI stops the turn", async () => {
  const { uuid } = await newest();
  await send("fault:hang");
  const answer = page.getByRole("log").getByRole("listitem").last();
  await expect(answer).toContainText("The beginning of an answer");
  // Same request as Open WebUI sends from another tab or device.
  const second = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "x-openwebui-chat-id": chat() },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "hello" }] }),
  });
  expect(second.status).toBe(200);
  expect((await second.json()).choices[0].message.content).toBe("You said: hello");
  expect(second.headers.get("x-tallybook-conversation")).not.toBe(uuid);
  expect((await conversation(uuid)).messages.at(-1)!.status).toBe("streaming");
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await expect.poll(async () => (await conversation(uuid)).messages.at(-1)!.status).toBe("stopped");
  // The same chat continues.
  await send("use multiply 6 7");
  await expect(page.getByRole("log").getByRole("listitem").last()).toContainText('"result":"42"');
  expect((await conversation(uuid)).messages).toHaveLength(10);
});

test("an image that is uploaded in Open WebUI reaches the model and is stored once", async () => {
  const answers = page.getByRole("log").getByRole("listitem");
  await page.locator('input[type="file"]').first().setInputFiles({ name: "picture.png", mimeType: "image/png", buffer: picture });
  await expect(page.locator("#message-input-container img").first()).toBeVisible();
  await send("What is it?");
  // Open WebUI writes a list of the attached files before the text.
  await expect(answers.last()).toContainText("What is it? (images: 1)");
  await expect(page.getByText("Response complete")).toBeAttached();
  const files = (await newest()).messages.flatMap((message) => message.files ?? []);
  expect(files.map(({ kind, media_type }) => `${kind} ${media_type}`)).toEqual(["image image/png"]);
  // Open WebUI sends the image again with each later message of the chat.
  await send("And now?");
  await expect(answers.last()).toContainText("And now?");
  expect((await newest()).messages.flatMap((message) => message.files ?? [])).toHaveLength(1);
});
