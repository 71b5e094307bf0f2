// Tests the main uses of the page by touch on a phone: the user reaches everything by tapping and scrolling alone.

import type { Locator, Page } from "@playwright/test";
import { ChatPage, alive, boxOf, holdProgram, toolCalls } from "../kit/chat.ts";
import { converse, question } from "../kit/converse.ts";
import { attach, textFile } from "../kit/files.ts";
import { expect, test } from "../kit/test.ts";

test.use({ hasTouch: true, isMobile: true, viewport: { width: 390, height: 700 }, demoPaceMs: 0 });

/** Minimum width and height of the page's main controls, in CSS pixels. */
const MAIN = 44;
/** Minimum width and height of all other controls: WCAG 2.5.8 Target Size (Minimum). */
const LEAST = 24;

async function open(page: Page, address: string): Promise<ChatPage> {
  await page.goto(address);
  await alive(page);
  return new ChatPage(page);
}

/** Opens a conversation from the list. */
async function goTo(page: Page, address: string): Promise<void> {
  await page.getByTestId("open-sidebar").tap();
  await page.getByTestId("sidebar").locator(`[href="${address}"]`).tap();
  await expect(page).toHaveURL(address);
  await expect(page.getByTestId("search"), "the list closes").toBeHidden();
}

/** Swipes down with a finger this number of times. Playwright itself only offers taps. */
async function swipeDown(page: Page, times: number): Promise<void> {
  const screen = await page.context().newCDPSession(page);
  const send = (type: "touchStart" | "touchMove" | "touchEnd", ...touchPoints: { x: number; y: number }[]) =>
    screen.send("Input.dispatchTouchEvent", { type, touchPoints });
  for (let swipe = 0; swipe < times; swipe++) {
    await send("touchStart", { x: 195, y: 120 });
    for (let y = 150; y <= 510; y += 60) await send("touchMove", { x: 195, y });
    await send("touchEnd");
  }
  await screen.detach();
}

async function expectSize(target: Locator, least: number): Promise<void> {
  await expect(target).toBeVisible();
  const size = async () => {
    const { width, height } = await boxOf(target);
    return Math.min(width, height);
  };
  await expect.poll(size, String(target)).toBeGreaterThanOrEqual(least);
}

/** Returns the visible controls that are too small for a finger. Links within a text may be as high as its lines. */
function tooSmall(page: Page): Promise<string[]> {
  return page.evaluate((least) => {
    const controls = document.querySelectorAll<HTMLElement>("a[href], button, input, select, textarea, summary, [role=option]");
    return [...controls]
      .filter((control) => control.checkVisibility({ visibilityProperty: true }) && !control.matches(".prose p a, .skip-link"))
      .filter((control) => {
        const { width, height } = control.getBoundingClientRect();
        return Math.min(width, height) < least;
      })
      .map((control) => control.outerHTML.slice(0, 200));
  }, LEAST);
}

test("on a touch screen, the button sends, Enter breaks the line, and a tap opens a call", async ({ page }) => {
  const chat = await open(page, "/");
  const field = page.getByTestId("composer");
  await expect(field, "the keyboard does not appear by itself").not.toBeFocused();
  await expect(field).toHaveAttribute("enterkeyhint", "enter");
  await expect(field, "no hint, because the key's label explains it").toHaveAccessibleDescription("");
  await field.tap();
  await page.keyboard.type("What is");
  await page.keyboard.press("Enter");
  await page.keyboard.type("(12.5 + 7.25) × 4?");
  await expect(field).toHaveValue("What is\n(12.5 + 7.25) × 4?");
  await page.getByTestId("send").tap();
  const answer = chat.answers.first();
  await expect(answer).toHaveAttribute("data-status", "complete");
  await expect(field).toHaveValue("");

  await answer.getByTestId("tool-group").tap();
  const call = toolCalls(answer).last();
  const details = answer.getByTestId("tool-call-details");
  await call.tap();
  await expect(details).toContainText("79");
  await call.tap();
  await expect(details).toBeHidden();
});

test("Enter also breaks the line before the page is interactive, and the key's label shows that", async ({ page }) => {
  const release = await holdProgram(page);
  await page.goto("/", { waitUntil: "commit" });
  const field = page.getByTestId("composer");
  await expect(field).toBeEnabled();
  await expect(field).toHaveAttribute("enterkeyhint", "enter");
  await expect(field).toHaveAccessibleDescription("");
  await field.tap();
  await page.keyboard.type("What is");
  await page.keyboard.press("Enter");
  await page.keyboard.type("2 + 3?");
  await expect(field).toHaveValue("What is\n2 + 3?");
  release();
  await alive(page);
  await expect(field).toHaveValue("What is\n2 + 3?");
  await expect(field).toHaveAttribute("enterkeyhint", "enter");
});

test("the list opens another chat, a new one and the first one", async ({ page, request }) => {
  const [first, second] = [await converse(request, 1), await converse(request, 1)];
  const chat = await open(page, first);
  await goTo(page, second);
  await expect(chat.messages).toHaveCount(2);
  await page.getByTestId("open-sidebar").tap();
  await page.getByTestId("new-chat").tap();
  await expect(page).toHaveURL("/");
  await expect(page.getByTestId("search")).toBeHidden();
  await page.getByTestId("example").first().tap();
  await expect(chat.answers).toHaveAttribute("data-status", "complete");
  await expect(page.getByTestId("composer"), "the keyboard does not appear by itself").not.toBeFocused();
  await goTo(page, first);
  await expect(chat.messages).toHaveCount(2);
});

test("a swipe scrolls the messages and loads earlier ones, and a button jumps back down", async ({ page, request }) => {
  const chat = await open(page, await converse(request, 30));
  await expect(chat.messages.last()).toBeInViewport();
  await swipeDown(page, 3);
  await expect(chat.messages.last()).not.toBeInViewport();
  await expect(page.getByTestId("jump")).toBeVisible();
  await expect(async () => {
    await swipeDown(page, 10);
    await expect(page.getByText(question(0))).toBeInViewport({ timeout: 100 });
  }).toPass();
  await expect(chat.messages).toHaveCount(60);
  expect(await page.evaluate(() => document.documentElement.scrollTop), "the page itself does not scroll").toBe(0);
  await page.getByTestId("jump").tap();
  await expect(chat.messages.last()).toBeInViewport();
});

test("the menu of a conversation opens, renames and closes", async ({ page, request }) => {
  await open(page, await converse(request, 1));
  const menu = page.getByTestId("conversation-menu");
  await menu.tap();
  await expect(page.getByTestId("markdown")).toBeInViewport({ ratio: 1 });
  await page.touchscreen.tap(195, 650);
  await expect(page.getByTestId("markdown"), "a tap outside closes it").toBeHidden();
  await menu.tap();
  await page.getByTestId("menu-rename").tap();
  await page.getByTestId("rename-field").fill("By touch");
  await page.keyboard.press("Enter");
  await expect(menu).toHaveText("By touch");
});

test("a phone offers its camera and all files: the fields restrict neither kind nor source", async ({ page }) => {
  const chat = await open(page, "/");
  const expectFree = async (field: Locator) => {
    await expect(field).toHaveAttribute("type", "file");
    for (const restriction of ["accept", "capture"]) await expect(field).not.toHaveAttribute(restriction);
  };
  await expectFree(page.getByTestId("file-input"));
  const chosen = page.waitForEvent("filechooser");
  await page.getByTestId("attach").tap();
  expect((await chosen).isMultiple()).toBe(true);

  const answer = await chat.send("What is 2 + 3?");
  await expect(answer).toHaveAttribute("data-status", "complete");
  await chat.messages.first().getByTestId("edit").tap();
  await expectFree(page.getByTestId("edit-file-input"));
});

test("a file is removed, and the file of a message is opened and closed", async ({ page }) => {
  const chat = await open(page, "/");
  await attach(page, textFile("one.txt", "Heron."), textFile("two.txt", "Stork."));
  const chips = page.getByTestId("attachment");
  await expect(page.locator('[data-testid="attachment"][data-state="ready"]')).toHaveCount(2);
  await expectSize(chips.first().getByTestId("remove-file"), LEAST);
  await chips.first().getByTestId("remove-file").tap();
  await expect(chips).toHaveCount(1);
  await expect(page.getByTestId("composer"), "the keyboard does not appear by itself").not.toBeFocused();
  await page.getByTestId("send").tap();
  await expect(chat.answers).toHaveAttribute("data-status", "complete");
  await page.getByTestId("message-file").tap();
  const viewer = page.getByTestId("file-viewer");
  await expect(viewer.getByTestId("file-text")).toContainText("Stork.");
  expect(await tooSmall(page), "in the viewer").toEqual([]);
  await viewer.getByRole("button", { name: "Close" }).tap();
  await expect(viewer).toBeHidden();
});

test("every target is large enough for a finger", async ({ page, request }) => {
  const chat = await open(page, await converse(request, 1));
  await chat.answers.first().getByTestId("tool-group").tap();
  await toolCalls(chat.answers).first().tap();
  for (const name of ["open-sidebar", "conversation-menu", "send", "tool-group"]) await expectSize(page.getByTestId(name), MAIN);
  await expectSize(toolCalls(chat.answers).first(), MAIN);
  expect(await tooSmall(page), "in a conversation").toEqual([]);

  await page.getByTestId("conversation-menu").tap();
  for (const name of ["menu-rename", "markdown"]) await expectSize(page.getByTestId(name), MAIN);
  await page.keyboard.press("Escape");

  await page.getByTestId("open-sidebar").tap();
  await expect(page.getByTestId("search")).toBeVisible();
  for (const name of ["new-chat", "search"]) await expectSize(page.getByTestId(name), MAIN);
  await expectSize(page.getByTestId("conversation-link").first(), MAIN);
  expect(await tooSmall(page), "in the list").toEqual([]);

  await page.getByTestId("new-chat").tap();
  await expectSize(page.getByTestId("example").first(), MAIN);
  expect(await tooSmall(page), "in a new chat").toEqual([]);
});
