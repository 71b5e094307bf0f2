// Tests lost connections, and tabs that are closed, opened or hidden: in the end the user sees what an undisturbed run shows.

import type { Browser, Page } from "@playwright/test";
import { ChatPage, alive, mounted, untimedText, watchAnswer } from "../kit/chat.ts";
import { startProxy } from "../kit/proxy.ts";
import { expect, test } from "../kit/test.ts";

// Slow enough that every disturbance happens in the middle of an answer.
test.use({ demoPaceMs: 600 });

// The tests are independent and mostly wait, so all workers take tests from this file.
test.describe.configure({ mode: "parallel" });

const QUESTION = "What is (1 + 2) × (3 + 4) + (5 + 6) × (7 + 8) + 9?";

/** Returns the text of every message. */
async function wholeText(chat: ChatPage): Promise<string[]> {
  return Promise.all((await chat.messages.all()).map(untimedText));
}

/**
 * Starts a run without disturbances in a separate browser context, in parallel with the rest of the test. The returned function
 * waits until the run has ended, and returns the texts of its messages.
 */
async function undisturbed(browser: Browser, baseURL: string): Promise<() => Promise<string[]>> {
  const context = await browser.newContext({ baseURL });
  const chat = new ChatPage(await context.newPage());
  await chat.page.goto("/");
  const answer = await chat.send(QUESTION);
  return async () => {
    await expect(answer).toHaveAttribute("data-status", "complete");
    const texts = await wholeText(chat);
    await context.close();
    return texts;
  };
}

/** Asks the question, and waits until its answer is in the middle of the last sentence. */
async function askAndWait(page: Page, address = "/"): Promise<ChatPage> {
  const chat = new ChatPage(page);
  await page.goto(address);
  await chat.send(QUESTION);
  await expect(chat.answers.first()).toContainText("Done:");
  await expect(chat.answers.first()).toHaveAttribute("data-status", "streaming");
  return chat;
}

/** Makes a tab appear hidden or visible to its page, because a browser under test reports every tab as visible. */
async function setHidden(page: Page, hidden: boolean): Promise<void> {
  await page.evaluate((hidden) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
    document.dispatchEvent(new Event("visibilitychange", { bubbles: true }));
  }, hidden);
}

test("nothing is lost after ten seconds offline in the middle of an answer", async ({ browser, context, page, server, tolerated }) => {
  tolerated.push(/net::ERR_/);
  const expected = await undisturbed(browser, server.url);
  const proxy = await startProxy(server.url);
  const chat = await askAndWait(page, proxy.url);
  const room = () => page.locator("#thread").evaluate((thread) => thread.getBoundingClientRect().height);
  const before = await room();
  await context.setOffline(true);
  // `setOffline` affects only new connections, so the proxy closes the existing ones.
  proxy.cut();
  await expect(page.getByText("Reconnecting")).toHaveText(/^Reconnecting… \(retrying in \d+s\)$/);
  await expect(page.getByTestId("stop")).toBeVisible();
  expect(await room(), "the notice does not shrink the messages").toBe(before);
  await page.waitForTimeout(10_000);
  await context.setOffline(false);
  proxy.restore();
  await expect(chat.answers.first()).toHaveAttribute("data-status", "complete", { timeout: 40_000 });
  await expect(page.getByText("Reconnecting")).toBeHidden();
  await expect.poll(() => wholeText(chat)).toEqual(await expected());
  await proxy.stop();
});

test("Retry now reconnects without waiting", async ({ page, tolerated }) => {
  tolerated.push(/net::ERR_|Failed to load resource/);
  const chat = new ChatPage(page);
  await page.goto("/");
  await page.route("**/events*", (route) => (route.request().url().endsWith("/api/events") ? route.continue() : route.abort()));
  // The stream of the answer ends at once.
  await page.route("**/messages", (route) => route.fulfill({ contentType: "text/event-stream", body: ": hello\n\n" }));
  await page.getByTestId("composer").fill("What is 1 + 1?");
  await page.getByTestId("send").click();
  await expect(page.getByText("Reconnecting")).toHaveText(/retrying in [2-9]\d*s/);
  const spoken = page.locator(".connection [role=status]");
  await expect(page.locator(".connection").getByText(/\d/), "the countdown is not announced").toHaveAttribute("aria-hidden", "true");
  expect((await spoken.allTextContents()).join("")).toBe("Connection lost. Tallybook is trying to reconnect.");
  const asked = page.waitForRequest((request) => request.url().endsWith("/events") && request.url().includes("conversations"));
  await page.getByTestId("retry-now").click();
  await asked;
  await expect(page.getByTestId("composer"), "the button is gone, and the next key press is not lost").toBeFocused();
  await expect(chat.messages.first()).toContainText("What is 1 + 1?");
});

test("a silent connection is detected after three missed keep-alives", async ({ browser, page, server, tolerated }) => {
  // A part of the page that is just being loaded fails, too.
  tolerated.push(/net::ERR_/, /WebAssembly compilation aborted/);
  const expected = await undisturbed(browser, server.url);
  const proxy = await startProxy(server.url);
  await page.clock.install();
  const chat = await askAndWait(page, proxy.url);
  proxy.swallow();
  await page.clock.fastForward(15_500);
  await expect(page.getByText("Reconnecting")).toBeVisible();
  await expect(page.getByTestId("stop")).toBeEnabled();
  proxy.restore();
  await page.getByTestId("retry-now").click();
  await expect(chat.answers.first()).toHaveAttribute("data-status", "complete");
  await expect.poll(() => wholeText(chat)).toEqual(await expected());
  await proxy.stop();
});

test("a Stop without a response shows an error and can be repeated", async ({ page, server, tolerated }) => {
  // A part of the page that is just being loaded fails, too.
  tolerated.push(/net::ERR_/, /WebAssembly compilation aborted/);
  const proxy = await startProxy(server.url);
  await page.clock.install();
  const chat = new ChatPage(page);
  await page.goto(proxy.url);
  const answer = await chat.send(QUESTION);
  await expect(answer).toHaveAttribute("data-status", "streaming");
  proxy.swallow();
  const stop = page.getByTestId("stop");
  await stop.click();
  await expect(stop).toHaveAccessibleName("Stopping…");
  await expect(stop).toBeDisabled();
  await page.clock.fastForward(10_500);
  await expect(page.getByTestId("notice")).toContainText("Press Stop again.");
  await expect(stop).toHaveAccessibleName("Stop");
  proxy.restore();
  await stop.click();
  await expect(answer).toHaveAttribute("data-status", "stopped");
  await expect(page.getByTestId("notice")).toHaveCount(0);
  await proxy.stop();
});

test("a page that is closed and opened again shows the complete answer", async ({ browser, context, page, server }) => {
  const expected = await undisturbed(browser, server.url);
  await askAndWait(page);
  const address = page.url();
  await page.close();
  const chat = new ChatPage(await context.newPage());
  await chat.page.goto(address);
  await expect(chat.answers.first()).toHaveAttribute("data-status", "streaming");
  await expect(chat.answers.first()).toHaveAttribute("data-status", "complete");
  await expect.poll(() => wholeText(chat)).toEqual(await expected());
});

test("two tabs show a turn live, and are identical at its end", async ({ browser, context, page, server }) => {
  const expected = await undisturbed(browser, server.url);
  const chat = new ChatPage(page);
  await page.goto("/");
  await chat.ask("What is 1 + 1?");
  const other = new ChatPage(await context.newPage());
  await other.page.goto(page.url());
  await alive(other.page);
  const watched = await watchAnswer(other.page);
  const asked = await chat.send(QUESTION);
  await expect(other.answers.nth(1)).toHaveAttribute("data-status", "streaming");
  await expect(other.page.getByTestId("stop")).toBeVisible();
  await expect(asked).toHaveAttribute("data-status", "complete");
  await expect(other.answers.nth(1)).toHaveAttribute("data-status", "complete");
  expect((await watched()).length, "the answer also grows in the other tab").toBeGreaterThan(3);
  const texts = await wholeText(chat);
  await expect.poll(() => wholeText(other)).toEqual(texts);
  expect(texts.slice(2)).toEqual(await expected());
});

test("one of two concurrent messages is answered, and the other tab shows why its message is not", async ({ context, page, tolerated }) => {
  tolerated.push(/status of 409|net::ERR_/);
  const chat = new ChatPage(page);
  await page.goto("/");
  await chat.ask("What is 1 + 1?");
  const other = new ChatPage(await context.newPage());
  // The other tab is not notified of the new turn in time. Without locks it does not share the feed of the first tab, and its own
  // feed is blocked.
  await other.page.addInitScript(() => Object.defineProperty(navigator, "locks", { value: undefined }));
  await other.page.route("**/api/events", (route) => route.abort());
  await other.page.goto(page.url());
  await mounted(other.page);
  await chat.send(QUESTION);
  await expect(chat.answers.nth(1)).toHaveAttribute("data-status", "streaming");
  await other.page.getByTestId("composer").fill("And 2 + 2?");
  await other.page.getByTestId("send").click();
  await expect(other.page.getByTestId("notice")).toContainText("another tab");
  await expect(other.page.getByTestId("composer")).toHaveValue("And 2 + 2?");
  await expect(other.answers.nth(1)).toHaveAttribute("data-status", "complete");
  await expect(chat.answers.nth(1)).toHaveAttribute("data-status", "complete");
  await expect.poll(() => wholeText(other)).toEqual(await wholeText(chat));
  await expect(chat.messages).toHaveCount(4);
});

test("a hidden tab closes its stream and catches up when it is shown", async ({ browser, page, request, server }) => {
  const expected = await undisturbed(browser, server.url);
  const chat = await askAndWait(page);
  const conversation = chat.api();
  const letGo = page.waitForEvent("requestfailed", (request) => request.url().endsWith("/messages"));
  await setHidden(page, true);
  await letGo;
  const running = async () => (await (await request.get(conversation)).json()).running;
  await expect.poll(running).toBe(false);
  await expect(chat.answers.first()).toHaveAttribute("data-status", "streaming");
  await setHidden(page, false);
  await expect(chat.answers.first()).toHaveAttribute("data-status", "complete");
  await expect(page.getByTestId("send")).toBeVisible();
  await expect.poll(() => wholeText(chat)).toEqual(await expected());
});

test("a stopped answer shows the status of its calls, also after a reload", async ({ page }) => {
  const chat = await askAndWait(page);
  await page.getByTestId("stop").click();
  const answer = chat.answers.first();
  await expect(answer).toHaveAttribute("data-status", "stopped");
  await expect(answer).toContainText(/Stopped\. \d+ tool calls had finished\. Everything so far is saved\./);
  const stopped = await wholeText(chat);
  await page.reload();
  await expect(answer).toHaveAttribute("data-status", "stopped");
  await expect.poll(() => wholeText(chat)).toEqual(stopped);
  const next = await chat.ask("What is 2 + 3?");
  await expect(next).toContainText("5");
});

test("a page of an older version shows a notice until it is reloaded", async ({ page }) => {
  let updated = false;
  await page.route("**/api/events", (route) => {
    const headers = { "tallybook-page": "/pkg/0123456789abcdef" };
    return updated ? route.fulfill({ contentType: "text/event-stream", headers, body: "" }) : route.continue();
  });
  // The request that the page sends after it has compared its version with the server's.
  const refreshed = () => page.waitForResponse(/\/api\/conversations\?/);
  const compared = refreshed();
  await page.goto("/");
  await compared;
  const outdated = page.getByTestId("outdated");
  await expect(outdated).toHaveCount(0);

  updated = true;
  await setHidden(page, true);
  await setHidden(page, false);
  await expect(outdated).toHaveText("Tallybook was updated. Reload to use the new version.");
  await page.getByTestId("composer").fill("What I was about to ask");
  const comparedAnew = page.waitForEvent("framenavigated").then(() => {
    updated = false;
    return refreshed();
  });
  await page.getByTestId("reload").click();
  await comparedAnew;
  await expect(page.getByTestId("composer")).toHaveValue("What I was about to ask");
  await expect(outdated).toHaveCount(0);
});
