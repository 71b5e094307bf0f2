// Measures the page on a slower processor, such as a cheap phone's: time until the page is usable, and time until another
// conversation is shown. `md_stream.spec.ts` measures how an answer is drawn on such a processor.

import type { Page } from "@playwright/test";
import { alive, mounted } from "../kit/chat.ts";
import { converse } from "../kit/converse.ts";
import { expect, test } from "../kit/test.ts";
import { QUICK, figure, median } from "./figure.ts";
import { visitBoth } from "./still.ts";
import { slowDown } from "./visit.ts";

test.use({ demoPaceMs: 0 });

const ROUNDS = QUICK ? 1 : 7;
/** Number of turns, of two messages each. A conversation opens with as many messages as these turns have. */
const TURNS = QUICK ? 5 : 25;

/** All goals are in milliseconds. */
const GOALS = { writable: 450, interactive: 600, blocking: 150, opening: 100 };

test("a first visit", async ({ playwright, server, request }) => {
  const pages = { "a new chat": "/", [`a conversation of ${2 * TURNS} messages`]: await converse(request, TURNS) };
  for (const [name, path] of Object.entries(pages)) {
    const { ours, theirs } = await visitBoth(playwright.chromium, server.url, path, ROUNDS, { slow: true });
    figure(`${name}, writable after`, median(ours.map(({ writable }) => writable)), "ms", GOALS.writable);
    figure(`${name}, interactive after`, median(ours.map(({ alive }) => alive)), "ms", GOALS.interactive);
    figure(`${name}, blocking time`, median(ours.map(({ blocking }) => blocking)), "ms", GOALS.blocking);
    // The share that the browser itself needs, on this machine at this time.
    figure(`${name}, without its program, painted after`, median(theirs.map(({ paint }) => paint)), "ms");
    figure(`${name}, without its program, blocking time`, median(theirs.map(({ blocking }) => blocking)), "ms");
  }
});

test("another conversation", async ({ page, request }) => {
  const [one, other] = [await converse(request, TURNS), await converse(request, TURNS)];
  await slowDown(page);
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await page.goto(one);
    // When everything is mounted, no more parts of this conversation are added to the page. Using the list mounts it.
    await mounted(page);
    await page.getByTestId("new-chat").focus();
    await expect(page.locator("[data-drawn]")).toHaveCount(0);
    times.push(await openAnother(page, other));
  }
  figure("shown after its data", median(times), "ms", GOALS.opening);
  figure("shown after its data at worst", Math.max(...times), "ms");
});

test("the first press in a conversation", async ({ page, request }) => {
  const address = await converse(request, TURNS);
  await slowDown(page);
  const times: Pressed[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await page.goto(address);
    await alive(page);
    times.push(await press(page));
  }
  figure("shown as pressed after", median(times.map(({ shown }) => shown)), "ms");
  figure("opened after", median(times.map(({ opened }) => opened)), "ms");
});

/** Times after a press, in milliseconds. */
interface Pressed {
  shown: number;
  opened: number;
}

/** Presses the tool calls of the last answer, and measures the time until they are open and painted. */
async function press(page: Page): Promise<Pressed> {
  const measured = await page.evaluateHandle(() => {
    // A task queued in a frame's callbacks runs after that frame has been painted.
    const painted = () => new Promise<number>((done) => requestAnimationFrame(() => setTimeout(() => done(performance.now()))));
    const times = new Promise<{ shown: number; opened: number }>((done) => {
      addEventListener(
        "click",
        async () => {
          const pressed = performance.now();
          const shown = (await painted()) - pressed;
          const isOpen = () => [...document.querySelectorAll<HTMLElement>(".tool-line")].some((line) => line.offsetParent);
          while (!isOpen()) await painted();
          done({ shown, opened: (await painted()) - pressed });
        },
        { capture: true, once: true },
      );
    });
    return { times };
  });
  await page.getByTestId("tool-group").last().click();
  return measured.evaluate(({ times }) => times);
}

/** Opens a conversation from the list. Returns the time from the arrival of its data until it was painted, in milliseconds. */
async function openAnother(page: Page, address: string): Promise<number> {
  const shown = await page.evaluateHandle((address) => {
    const before = new Set<Element>(document.querySelectorAll("article"));
    const data = address.replace("/c/", "/api/conversations/");
    const arrived = () => {
      const entries = performance.getEntriesByType("resource") as PerformanceResourceTiming[];
      return entries.findLast(({ name }) => new URL(name).pathname === data)?.responseEnd;
    };
    performance.clearResourceTimings();
    const painted = new Promise<number>((resolve) => {
      const observer = new MutationObserver(() => {
        const newest = document.querySelector("article:last-of-type");
        if (!newest || before.has(newest)) return;
        observer.disconnect();
        // A task queued in a frame's callbacks runs after that frame has been painted.
        requestAnimationFrame(() => setTimeout(() => resolve(performance.now())));
      });
      observer.observe(document.body, { subtree: true, childList: true });
    });
    return { after: painted.then((now) => now - (arrived() ?? NaN)) };
  }, address);
  await page.getByTestId("sidebar").locator(`[href="${address}"]`).click();
  const time = await shown.evaluate(({ after }) => after);
  expect(time, "its data was requested").not.toBeNaN();
  return time;
}
