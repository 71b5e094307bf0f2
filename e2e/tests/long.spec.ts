// A long conversation: it opens at its end, and what came before is loaded as one goes up, without anything moving.

import type { Locator, Page } from "@playwright/test";
import { ChatPage, alive, holdProgram } from "../kit/chat.ts";
import { converse, question } from "../kit/converse.ts";
import { call, conversation, open } from "../kit/seed.ts";
import { expect, test } from "../kit/test.ts";

/** How many messages the page loads at a time. */
const AT_ONCE = 50;

// A trace would keep a picture of all of it after each step.
test.use({ trace: "off", demoPaceMs: 0 });

test("who went up before the page was alive stays there", async ({ page, request }) => {
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

/** A conversation of so many turns with two calls each. */
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

/** What browsers tell of something that moved though nobody moved it; TypeScript does not know it. */
interface LayoutShift extends PerformanceEntry {
  value: number;
  sources: { previousRect: DOMRectReadOnly }[];
}

/**
 * Goes to `top` in what is loaded, waits until `more` messages are loaded then, and tells by how much the message in sight
 * moved in the end, and how much anything moved that was seen meanwhile.
 */
function goUp(thread: Locator, top: number, more: number): Promise<{ moved: number; shifted: number }> {
  return thread.evaluate(
    async (area, { top, more }) => {
      const frame = () => new Promise(requestAnimationFrame);
      const messages = () => area.querySelectorAll(".message");
      let shifted = 0;
      // What was not laid out before has only come into sight.
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

/** Lets requests for earlier messages through only when `allowed` has come to pass. */
async function holdEarlier(page: Page, allowed: Promise<void>): Promise<void> {
  await page.route(/[?&]before=/, async (route) => {
    await allowed;
    await route.continue();
  });
}

test("a conversation of 1,000 messages with 1,000 tool calls opens at its end and is read to its beginning", async ({ page }) => {
  // Twenty pages are read: a minute of a machine that does nothing else.
  test.setTimeout(240_000);
  const turns = 500;
  await open(page, long(turns));
  const messages = page.locator("article");
  await expect(messages).toHaveCount(AT_ONCE);
  await expect(page.getByText(`The answer to ${turns - 1} is`)).toBeInViewport();

  const thread = page.locator("#thread");
  for (let loaded = AT_ONCE; loaded < 2 * turns; loaded += AT_ONCE) {
    // At the very top, where the button that one sees goes up and away, and near it.
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

  await test.step("tool calls in earlier messages open", async () => {
    const answer = page.locator('article[data-role="assistant"]').first();
    await answer.getByTestId("tool-group").click();
    await answer.getByTestId("tool-call").first().click();
    await expect(answer.getByTestId("tool-call-details")).toContainText("79");
  });

  await test.step("what is far away takes part in no layout, and going back is one step", async () => {
    await page.getByTestId("jump").click();
    await expect(page.getByText(`The answer to ${turns - 1} is`)).toBeInViewport();
    await expect(messages.first()).toHaveCSS("content-visibility", "auto");
    await expect(messages.last()).toHaveCSS("content-visibility", "visible");
  });
});

test("the keyboard leads to the beginning", async ({ page }) => {
  await open(page, long(60));
  const messages = page.locator("article");
  const thread = page.locator("#thread");
  await expect(messages).toHaveCount(50);
  await expect(messages.last()).toBeInViewport();
  await thread.focus();
  await page.keyboard.press("Control+Home");
  await expect(messages).toHaveCount(100);
  // The last of them take the button away; the focus stays with the messages.
  await page.getByTestId("show-earlier").focus();
  await expect(messages).toHaveCount(120);
  await expect(thread).toBeFocused();
  await page.keyboard.press("Control+Home");
  await expect(page.getByText("Question 0", { exact: true })).toBeInViewport();
});

test.describe("while earlier messages cannot be had", () => {
  test.use({ tolerated: [/status of 503/] });

  test("the page says so, keeps what it has, and tries again when told to", async ({ page }) => {
    await open(page, long(60));
    const messages = page.locator("article");
    await expect(messages).toHaveCount(AT_ONCE);
    const detail = "The database is out of reach. Try again in a moment.";
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
    // Nobody asks again and again by moving about.
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

test("a stored conversation goes on with its earlier messages in sight", async ({ page, request }) => {
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

  await test.step("a message is sent while earlier ones are on their way", async () => {
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

  await test.step("a reload shows the newest again, and the cost of all", async () => {
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

  await test.step("another version, and back: what is above stays, and the version is in sight", async () => {
    // The first answer that was loaded with the newest.
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

  await test.step("the first question changed is a conversation of its own, and leads back", async () => {
    const asked = messages.first();
    await asked.getByTestId("edit").click();
    await page.getByTestId("edit-field").fill("What is 2 + 3?");
    await page.keyboard.press("Enter");
    await expect(asked.getByTestId("version")).toHaveText("2/2");
    await expect(chat.answers.first()).toHaveAttribute("data-status", "complete");
    await expect(messages).toHaveCount(2);
    await expect(page.getByTestId("show-earlier")).toHaveCount(0);
    // The branch that was written last ends in the answer that was written anew, and all of it is there.
    await asked.getByTestId("older-version").click();
    await expect(messages.last().getByTestId("version")).toHaveText("2/2");
    await expect(messages.first()).toContainText(question(0));
    await expect(messages).toHaveCount(2 * turns + 2 - AT_ONCE + 2);
    await expect(asked).toBeInViewport();
  });
});
