// Tests a long conversation: it opens at its end, and earlier messages load as the user scrolls up, without moving anything.

import type { Locator, Page } from "@playwright/test";
import { ChatPage, alive, holdProgram } from "../kit/chat.ts";
import { converse, question } from "../kit/converse.ts";
import { call, conversation, open } from "../kit/seed.ts";
import { expect, test } from "../kit/test.ts";

/** Number of messages that the page loads at a time. */
const AT_ONCE = 50;

// A trace would store a snapshot of the whole page after each step.
test.use({ trace: "off", demoPaceMs: 0 });

test("the scroll position from before the page is interactive is kept", async ({ page, request }) => {
  const address = await converse(request, 10);
  const release = await holdProgram(page);
  await page.goto(address, { waitUntil: "domcontentloaded" });
  const thread = page.locator("#thread");
  const top = () => thread.evaluate((area) => area.scrollTop);
  await expect.poll(top).toBeGreaterThan(0);
  await thread.evaluate((area) => area.scrollTo(0, 0));
  release();
  await alive(page);
  await expect(page.getByTestId("jump")).toBeVisible();
  expect(await top()).toBe(0);
});

/** Returns a conversation of this number of turns, with two tool calls each. */
function long(turns: number) {
  return conversation(
    "Long",
    Array.from({ length: turns }, (_, at) => {
      const content = `Working on ${at}.\n\nThe answer to **${at}** is \`${at * 2}\`.\n\n- one\n- two\n`;
      const offset = content.indexOf("\n\nThe");
      const calls = [call("add", { a: at }, { offset }), call("multiply", { a: at }, { offset })];
      return [`Question ${at}`, { content, calls }];
    }),
  );
}

/** Performance entry of an unexpected layout shift, for which TypeScript has no type. */
interface LayoutShift extends PerformanceEntry {
  value: number;
  sources: { previousRect: DOMRectReadOnly }[];
}

/**
 * Scrolls to `top`, and waits until `more` messages have been loaded. Returns by how many pixels the message in view moved in the
 * end, and the layout shift of all elements that were visible meanwhile.
 */
function goUp(thread: Locator, top: number, more: number): Promise<{ moved: number; shifted: number }> {
  return thread.evaluate(
    async (area, { top, more }) => {
      const frame = () => new Promise(requestAnimationFrame);
      const messages = () => area.querySelectorAll(".message");
      let shifted = 0;
      // An element without a previous size was not laid out before. It only came into view.
      const add = (shifts: PerformanceEntryList) => {
        for (const { value, sources } of shifts as LayoutShift[]) {
          if (sources.some(({ previousRect }) => previousRect.width > 0)) shifted += value;
        }
      };
      const observer = new PerformanceObserver((list) => add(list.getEntries()));
      area.scrollTop = top;
      const count = messages().length;
      const inSight = [...messages()].find((message) => message.getBoundingClientRect().bottom > 100)!;
      const place = () => inSight.getBoundingClientRect().top;
      await frame();
      observer.observe({ type: "layout-shift" });
      let before = place();
      while (messages().length < count + more) {
        if (messages().length === count) before = place();
        await frame();
      }
      for (let frames = 0; frames < 4; frames++) await frame();
      add(observer.takeRecords());
      observer.disconnect();
      return { moved: Math.abs(place() - before), shifted };
    },
    { top, more },
  );
}

/** Holds requests for earlier messages until `allowed` resolves. */
async function holdEarlier(page: Page, allowed: Promise<void>): Promise<void> {
  await page.route(/[?&]before=/, async (route) => {
    await allowed;
    await route.continue();
  });
}

test("a conversation of 1,000 messages with 1,000 tool calls opens at its end and can be scrolled to its beginning", async ({ page }) => {
  // The test loads twenty batches, which takes a minute on an idle machine.
  test.setTimeout(240_000);
  const turns = 500;
  await open(page, long(turns));
  const messages = page.locator("article");
  await expect(messages).toHaveCount(AT_ONCE);
  await expect(page.getByText(`The answer to ${turns - 1} is`)).toBeInViewport();

  const thread = page.locator("#thread");
  for (let loaded = AT_ONCE; loaded < 2 * turns; loaded += AT_ONCE) {
    // Alternates between the very top, where the visible button moves up and out of view, and a place near the top.
    const top = loaded % 100 === 0 ? 0 : 300;
    const { moved, shifted } = await goUp(thread, top, AT_ONCE);
    expect(moved).toBeLessThan(3);
    if (top > 0) expect(shifted).toBe(0);
    await expect(messages).toHaveCount(loaded + AT_ONCE);
  }
  await expect(page.getByTestId("show-earlier")).toHaveCount(0);
  await expect(page.getByTestId("tool-group")).toHaveCount(turns);
  await thread.evaluate((area) => area.scrollTo(0, 0));
  await expect(page.getByText("Question 0", { exact: true })).toBeInViewport();

  await test.step("tool calls in earlier messages can be opened", async () => {
    const answer = page.locator('article[data-role="assistant"]').first();
    await answer.getByTestId("tool-group").click();
    await answer.getByTestId("tool-call").first().click();
    await expect(answer.getByTestId("tool-call-details")).toContainText("79");
  });

  await test.step("distant messages are not laid out, and one step jumps back", async () => {
    await page.getByTestId("jump").click();
    await expect(page.getByText(`The answer to ${turns - 1} is`)).toBeInViewport();
    await expect(messages.first()).toHaveCSS("content-visibility", "auto");
    await expect(messages.last()).toHaveCSS("content-visibility", "visible");
  });
});

test("the keyboard can reach the beginning", async ({ page }) => {
  await open(page, long(60));
  const messages = page.locator("article");
  const thread = page.locator("#thread");
  await expect(messages).toHaveCount(50);
  await expect(messages.last()).toBeInViewport();
  await thread.focus();
  await page.keyboard.press("Control+Home");
  await expect(messages).toHaveCount(100);
  // With the last messages, the button disappears, and the focus moves to the message list.
  await page.getByTestId("show-earlier").focus();
  await expect(messages).toHaveCount(120);
  await expect(thread).toBeFocused();
  await page.keyboard.press("Control+Home");
  await expect(page.getByText("Question 0", { exact: true })).toBeInViewport();
});

test.describe("while earlier messages cannot be loaded", () => {
  test.use({ tolerated: [/status of 503/] });

  test("the page reports it, keeps its messages, and retries on request", async ({ page }) => {
    await open(page, long(60));
    const messages = page.locator("article");
    await expect(messages).toHaveCount(AT_ONCE);
    const detail = "The database is unreachable. Try again in a moment.";
    let asked = 0;
    await page.route(/[?&]before=/, (route) => {
      asked += 1;
      return route.fulfill({
        status: 503,
        contentType: "application/problem+json",
        json: { type: "/problems/storage-unavailable", title: "", status: 503, detail, request_id: "" },
      });
    });
    const thread = page.locator("#thread");
    await thread.evaluate((area) => area.scrollTo(0, 0));
    await expect(page.getByTestId("show-earlier-problem")).toHaveText(detail);
    await expect(page.getByTestId("show-earlier")).toHaveText("Try again");
    await expect(messages).toHaveCount(AT_ONCE);
    // After a failure, scrolling causes no further requests.
    for (const top of [200, 0]) await thread.evaluate((area, top) => area.scrollTo(0, top), top);
    await page.getByTestId("show-earlier").click();
    await expect(page.getByTestId("show-earlier-problem")).toBeVisible();
    expect(asked).toBe(2);

    await page.unroute(/[?&]before=/);
    await page.getByTestId("show-earlier").click();
    await expect(messages).toHaveCount(2 * AT_ONCE);
    await expect(page.getByTestId("show-earlier-problem")).toHaveCount(0);
  });
});

test("a stored conversation continues with its earlier messages in view", async ({ page, request }) => {
  const turns = 60;
  const address = await converse(request, turns);
  const html = await (await request.get(address)).text();
  expect(html.match(/<article/g)).toHaveLength(AT_ONCE);

  const chat = new ChatPage(page);
  const { messages } = chat;
  const thread = page.locator("#thread");
  const usage = page.getByTestId("usage-in-all");
  await page.goto(address);
  await alive(page);
  await expect(messages).toHaveCount(AT_ONCE);
  const cost = await usage.textContent();

  await test.step("a message is sent while earlier ones are loading", async () => {
    let allow = () => {};
    await holdEarlier(page, new Promise<void>((resolve) => (allow = resolve)));
    const asked = page.waitForRequest(/[?&]before=/);
    await thread.evaluate((area) => area.scrollTo(0, 0));
    await asked;
    await expect(page.getByTestId("show-earlier")).toHaveText("Loading earlier messages…");
    await chat.ask("What is 1 + 2?");
    await expect(messages).toHaveCount(AT_ONCE + 2);
    allow();
    await expect(messages).toHaveCount(2 * AT_ONCE + 2);
    await page.unrouteAll({ behavior: "wait" });
    await expect(messages.last()).toBeInViewport();
  });

  await test.step("a reload shows the newest messages, and the cost of all", async () => {
    const costNow = await usage.textContent();
    expect(costNow).not.toBe(cost);
    await page.reload();
    await alive(page);
    await expect(messages).toHaveCount(AT_ONCE);
    await expect(usage).toHaveText(costNow!);
    await goUp(thread, 0, AT_ONCE);
    await expect(messages).toHaveCount(2 * AT_ONCE);
    await expect(usage).toHaveText(costNow!);
  });

  await test.step("switching versions back and forth keeps the messages above, and the version stays in view", async () => {
    // `answer` is the first answer of the batch that the page opened with.
    const first = await messages.first().locator(".bubble").textContent();
    const answer = messages.nth(AT_ONCE + 1);
    await answer.getByTestId("regenerate").click();
    await expect(answer.getByTestId("version")).toHaveText("2/2");
    await expect(answer).toHaveAttribute("data-status", "complete");
    await expect(messages).toHaveCount(AT_ONCE + 2);
    await answer.getByTestId("older-version").click();
    await expect(answer.getByTestId("version")).toHaveText("1/2");
    await expect(messages).toHaveCount(2 * AT_ONCE);
    await expect(messages.first().locator(".bubble")).toHaveText(first!);
    await expect(answer).toBeInViewport();
    await goUp(thread, 0, 2 * turns + 2 - 2 * AT_ONCE);
    await expect(messages).toHaveCount(2 * turns + 2);
    await expect(messages.first()).toContainText(question(0));
  });

  await test.step("an edited first question starts a branch, and the user can switch back", async () => {
    const asked = messages.first();
    await asked.getByTestId("edit").click();
    await page.getByTestId("edit-field").fill("What is 2 + 3?");
    await page.keyboard.press("Enter");
    await expect(asked.getByTestId("version")).toHaveText("2/2");
    await expect(chat.answers.first()).toHaveAttribute("data-status", "complete");
    await expect(messages).toHaveCount(2);
    await expect(page.getByTestId("show-earlier")).toHaveCount(0);
    // The branch that was written last ends with the regenerated answer, and all of it is loaded.
    await asked.getByTestId("older-version").click();
    await expect(messages.last().getByTestId("version")).toHaveText("2/2");
    await expect(messages.first()).toContainText(question(0));
    await expect(messages).toHaveCount(2 * turns + 2 - AT_ONCE + 2);
    await expect(asked).toBeInViewport();
  });
});
