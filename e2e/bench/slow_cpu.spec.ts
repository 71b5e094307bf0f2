// The page on a slower processor, as a cheap phone's: how soon it can be used, and how soon another conversation is there. How
// an answer is drawn there stands in md_stream.

import type { Page } from "@playwright/test";
import { converse } from "../kit/converse.ts";
import { expect, test } from "../kit/test.ts";
import { QUICK, figure, median } from "./figure.ts";
import { visitBoth } from "./still.ts";
import { slowDown } from "./visit.ts";

test.use({ demoPaceMs: 0 });

const ROUNDS = QUICK ? 1 : 7;
/** Two messages each; as many messages as a conversation opens with. */
const TURNS = QUICK ? 5 : 25;

/** All in milliseconds. */
const GOALS = { usable: 700, blocking: 150, opening: 100 };

test("a first visit", async ({ playwright, server, request }) => {
  const pages = { "a new chat": "/", [`a conversation of ${2 * TURNS} messages`]: await converse(request, TURNS) };
  for (const [name, path] of Object.entries(pages)) {
    const { ours, theirs } = await visitBoth(playwright.chromium, server.url, path, ROUNDS, { slow: true });
    figure(`${name}, one can write after`, median(ours.map(({ writable }) => writable)), "ms", GOALS.usable);
    figure(`${name}, alive after`, median(ours.map(({ alive }) => alive)), "ms", GOALS.usable);
    figure(`${name}, blocking time`, median(ours.map(({ blocking }) => blocking)), "ms", GOALS.blocking);
    // What of it is the browser's, on this machine at this time.
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
    // With all of it alive, nothing of this one comes in any more.
    await expect(page.locator("body[data-alive]")).toHaveCount(1);
    await expect(page.locator("[data-drawn]")).toHaveCount(0);
    times.push(await openAnother(page, other));
  }
  figure("shown after its data", median(times), "ms", GOALS.opening);
  figure("shown after its data at worst", Math.max(...times), "ms");
});

/** Goes to a conversation by the list, and tells how long after its data came it was on the screen. */
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
        // The task after a frame's callbacks comes when that frame has been painted.
        requestAnimationFrame(() => setTimeout(() => resolve(performance.now())));
      });
      observer.observe(document.body, { subtree: true, childList: true });
    });
    return { after: painted.then((now) => now - (arrived() ?? NaN)) };
  }, address);
  await page.getByTestId("sidebar").locator(`[href="${address}"]`).click();
  const time = await shown.evaluate(({ after }) => after);
  expect(time, "its data was asked for").not.toBeNaN();
  return time;
}
