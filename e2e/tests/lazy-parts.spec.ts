// Tests the lazy parts of the page's WASM module and style: they load when they are needed, and can arrive late.

import type { Page } from "@playwright/test";
import { ChatPage, alive, toolCalls } from "../kit/chat.ts";
import { converse, question } from "../kit/converse.ts";
import { gate } from "../kit/model.ts";
import { expect, test } from "../kit/test.ts";

test.use({ demoPaceMs: 0 });

const STYLE = /lazy\.css/;
const PARTS = /split_\w+\.wasm|lazy\.css/;
const MESSAGES = /split_messages\.wasm/;
const OTHERS = /split_others\.wasm/;
const FRAME = /split_frame\.wasm/;

function notice(page: Page) {
  return page.getByRole("alert").filter({ has: page.getByRole("link", { name: "Reload the page" }) });
}

async function open(page: Page): Promise<void> {
  await page.goto("/");
  await alive(page);
}

test("a new chat loads the part with messages when the user writes, and other parts when they are used", async ({ page }) => {
  const asked: string[] = [];
  page.on("request", (request) => PARTS.test(request.url()) && asked.push(request.url()));
  const idle = () => page.evaluate(() => new Promise((done) => requestIdleCallback(done)));
  await open(page);
  await page.mouse.move(200, 200);
  await page.getByTestId("composer").click();
  await idle();
  expect(asked).toEqual([]);
  const parts = [MESSAGES, STYLE].map((part) => page.waitForResponse(part));
  await page.keyboard.type("W");
  for (const part of parts) expect((await part).ok()).toBe(true);
  await idle();
  expect(asked.filter((url) => OTHERS.test(url))).toEqual([]);
  const others = page.waitForResponse(OTHERS);
  await page.getByTestId("open-help").click();
  expect((await others).ok()).toBe(true);
  await expect(page.getByTestId("help")).toBeVisible();
});

for (const [what, file] of [["a part", OTHERS], ["its style", STYLE]] as const) {
  test(`${what} that fails to load shows a notice, and appears once it is loaded`, async ({ page, tolerated }) => {
    tolerated.push(/status of 503|Failed to load|MIME|WebAssembly|HTTP status/i);
    let asked = 0;
    await page.route(file, (route) => (asked++ < 3 ? route.fulfill({ status: 503 }) : route.continue()));
    await open(page);
    await page.getByTestId("open-help").click();
    await expect(notice(page)).toContainText("could not be loaded");
    await expect(page.getByTestId("help")).toBeVisible({ timeout: 15_000 });
    await expect(notice(page)).toBeHidden();
    await page.keyboard.press("Escape");
    await expect(page.getByTestId("help")).toBeHidden();
    await expect(page.getByTestId("open-help"), "the focus returns").toBeFocused();
  });
}

for (const how of ["a press", "a key"]) {
  test(`a button of the header that is used with ${how} before its code is loaded works once when it is`, async ({ page }) => {
    const held = gate();
    await page.route(FRAME, async (route) => {
      await held.opened;
      await route.continue();
    });
    await open(page);
    const asked = page.waitForRequest(FRAME);
    const button = page.getByTestId("fold-sidebar");
    await (how === "a press" ? button.click() : button.press("Enter"));
    await asked;
    await expect(page.locator("html"), "the button has no effect yet").toHaveAttribute("data-sidebar", "shown");
    held.open();
    await expect(page.locator("html")).toHaveAttribute("data-sidebar", "folded");
    await expect(button, "the focus has not moved").toBeFocused();
    await expect(page.locator("[data-drawn], [data-pressed]")).toHaveCount(0);
    await expect(page.locator("html")).toHaveAttribute("data-sidebar", "folded");
  });
}

test("the list shows a conversation that was created elsewhere, although nothing in it was used", async ({ page, request }) => {
  await open(page);
  await request.post("/api/conversations", { data: { title: "From another tab" } });
  await expect(page.getByTestId("conversation-link").filter({ hasText: "From another tab" })).toBeVisible();
});

test("keys that are pressed before the palette's options are loaded apply to them", async ({ page, request }) => {
  await request.post("/api/conversations", { data: { title: "A train to Kyoto" } });
  const held = gate();
  await page.route(OTHERS, async (route) => {
    await held.opened;
    await route.continue();
  });
  await open(page);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("kyo");
  await page.keyboard.press("Enter");
  await expect(page.getByTestId("palette-field")).toHaveValue("kyo");
  held.open();
  await expect(page.getByTestId("conversation-menu")).toHaveText("A train to Kyoto");
  await expect(page.getByTestId("palette")).toBeHidden();
});

test("a message can be sent and read before the lazy part of messages is loaded", async ({ page, tolerated }) => {
  tolerated.push(/status of 503|Failed to load|MIME|WebAssembly|HTTP status/i);
  let asked = 0;
  await page.route(MESSAGES, (route) => (asked++ < 2 ? route.fulfill({ status: 503 }) : route.continue()));
  await open(page);
  const chat = new ChatPage(page);
  await page.getByTestId("composer").fill("What is 1 + 2?");
  await page.keyboard.press("Enter");
  await expect(chat.answers).toHaveAttribute("data-status", "complete", { timeout: 15_000 });
  await expect(chat.messages.first()).toContainText("What is 1 + 2?");
  await expect(notice(page)).toBeHidden();
});

test("the first message of a chat is shown before the lazy part of messages is loaded", async ({ page }) => {
  const { opened, open: load } = gate();
  await page.route(MESSAGES, async (route) => {
    await opened;
    await route.continue();
  });
  await open(page);
  await page.getByTestId("composer").fill("What is 1 + 2?");
  await page.keyboard.press("Enter");
  const first = page.locator(".first-question");
  await expect(first).toHaveText("What is 1 + 2?");
  load();
  const chat = new ChatPage(page);
  await expect(chat.messages).toHaveCount(2);
  await expect(first).toHaveCount(0);
});

test("a conversation loads the part with messages when one is used, and shows their times before", async ({ page, request }) => {
  const asked: string[] = [];
  page.on("request", (request) => MESSAGES.test(request.url()) && asked.push(request.url()));
  await page.goto(await converse(request, 2));
  await alive(page);
  await expect(page.locator(".when time"), "in the user's time zone").toHaveText(Array.from({ length: 4 }, () => /^\d+:\d\d/));
  await page.mouse.move(600, 200);
  await page.getByTestId("composer").click();
  await page.evaluate(() => new Promise((done) => requestIdleCallback(done)));
  expect(asked).toEqual([]);
  const { answers } = new ChatPage(page);
  await answers.last().getByTestId("tool-group").click();
  await expect(toolCalls(answers)).toHaveCount(2);
  expect(asked).toHaveLength(1);
  await expect(page.locator(".when time"), "each once").toHaveCount(4);
});

test("the up arrow edits the last question before the part with messages is loaded", async ({ page, request }) => {
  await page.goto(await converse(request, 2));
  await alive(page);
  await expect(page.getByTestId("composer")).toBeFocused();
  await page.keyboard.press("ArrowUp");
  await expect(page.getByTestId("edit-field")).toBeFocused();
  await expect(page.getByTestId("edit-field")).toHaveValue(question(1));
});

test("a conversation that was not used yet shows what another tab adds", async ({ page, request }) => {
  await page.goto(await converse(request, 1));
  await alive(page);
  const chat = new ChatPage(page);
  await (await request.post(`${chat.api()}/messages`, { data: { content: "What is 40 + 2?" } })).text();
  await expect(chat.answers).toHaveCount(2);
  await expect(chat.answers.last()).toContainText("42");
});

test("messages are readable before their code is loaded, and a press says why it does nothing yet", async ({ page, request, tolerated }) => {
  tolerated.push(/status of 503|Failed to load|preload|MIME|WebAssembly|HTTP status/i);
  let works = false;
  await page.route(MESSAGES, (route) => (works ? route.continue() : route.fulfill({ status: 503 })));
  await page.goto(await converse(request, 1));
  await alive(page);
  await expect(new ChatPage(page).answers, "the server-rendered conversation").toHaveCount(1);
  await expect(notice(page), "nothing is missing yet").toBeHidden();
  await page.getByTestId("tool-group").click();
  await expect(notice(page)).toContainText("could not be loaded");
  works = true;
  await expect(notice(page)).toBeHidden();
  await expect(toolCalls(new ChatPage(page).answers), "the press is carried out").toHaveCount(2);
});
