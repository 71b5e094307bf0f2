// Measures a conversation of 1,000 messages with 1,000 tool calls. Measures how soon a user can read and write in it, and how
// smoothly the user can scroll up to its beginning.

import type { Page } from "@playwright/test";
import { ChatPage } from "../kit/chat.ts";
import { converse } from "../kit/converse.ts";
import { expect, test } from "../kit/test.ts";
import { QUICK, figure, median } from "./figure.ts";

test.use({ demoPaceMs: 0 });

const TURNS = QUICK ? 50 : 500;
const ROUNDS = QUICK ? 1 : 5;
const GOALS = { opening: 1000, task: 50 };
/** Distance of one step of the mouse wheel, in pixels. */
const NOTCH = 400;

declare global {
  interface Window {
    /** Time when the newest message was in view and the page was interactive, in milliseconds since the navigation began. */
    opened?: number;
    /** Durations of the browser's tasks of over 50 ms, in milliseconds. */
    longTasks: number[];
  }
}

async function watchOpening(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const look = () => {
      const newest = document.querySelector("article:last-of-type");
      const seen = newest !== null && newest.getBoundingClientRect().top < innerHeight;
      if (seen && document.body.hasAttribute("data-alive")) window.opened = performance.now();
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
}

async function watchTasks(page: Page): Promise<void> {
  await page.evaluate(() => {
    window.longTasks = [];
    const note = (list: PerformanceObserverEntryList) => {
      window.longTasks.push(...list.getEntries().map((entry) => entry.duration));
    };
    new PerformanceObserver(note).observe({ type: "longtask" });
  });
}

/** Adds the long tasks since the last call to the table. */
async function noteTasks(page: Page, during: string): Promise<void> {
  const tasks = await page.evaluate(() => window.longTasks.splice(0));
  figure(`tasks of over 50 ms ${during}`, tasks.length, "");
  figure(`the longest of them ${during}`, Math.max(0, ...tasks), "ms", GOALS.task);
}

test(`${2 * TURNS} messages`, async ({ page, request }) => {
  const address = await converse(request, TURNS);
  await watchOpening(page);
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await page.goto(address);
    await page.waitForFunction(() => window.opened !== undefined);
    times.push(await page.evaluate(() => window.opened ?? 0));
  }
  figure("opening", median(times), "ms", GOALS.opening);
  figure("opening at worst", Math.max(...times), "ms");

  await watchTasks(page);
  await page.locator("#thread").hover();
  const atTop = () =>
    page.evaluate(async () => {
      await new Promise(requestAnimationFrame);
      return document.querySelector(".earlier") === null && document.querySelector("#thread")!.scrollTop === 0;
    });
  while (!(await atTop())) await page.mouse.wheel(0, -NOTCH);
  await expect(page.locator("article")).toHaveCount(2 * TURNS);
  await noteTasks(page, "while going up");

  await new ChatPage(page).ask("What is (1 + 2) × (3 + 4) × (5 + 6)?");
  await noteTasks(page, "while an answer comes below all of it");
});
