// How fast a conversation of 1,000 messages with 1,000 tool calls opens, and how smoothly it scrolls.

import type { Page } from "@playwright/test";
import { expect, test } from "../kit/test.ts";
import { QUICK, figure, median } from "./figure.ts";

test.use({ demoPaceMs: 0 });

const ROUNDS = QUICK ? 1 : 5;
/** Two messages and two tool calls each. */
const TURNS = QUICK ? 20 : 500;
/** The page scrolls up by so much in each of so many frames. */
const STEP_PX = 300;
const FRAMES = 300;

const GOALS = { open: 1000, gaps: 0 };
const last = `What is (1 + ${TURNS}) × 4?`;

declare global {
  interface Window {
    alive: number;
  }
}

test(`${2 * TURNS} messages`, async ({ page, request, context }) => {
  const { uuid } = await (await request.post("/api/conversations", { data: {} })).json();
  for (let turn = 1; turn <= TURNS; turn++) {
    const sent = await request.post(`/api/conversations/${uuid}/messages`, { data: { content: `What is (1 + ${turn}) × 4?` } });
    // The answer's events end with it.
    expect(await sent.text()).toContain("event: message_end");
  }

  const fromList: number[] = [];
  const byAddress: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await page.goto("/");
    await expect(page.getByTestId("composer")).toBeEnabled();
    fromList.push(await page.evaluate(open, { path: `/c/${uuid}`, last }));

    const other = await context.newPage();
    await other.addInitScript(noteWhenAlive);
    await other.goto(`/c/${uuid}`);
    await expect(other.getByTestId("composer")).toBeEnabled();
    byAddress.push(await other.evaluate(() => window.alive));
    await other.close();
  }
  figure("opened from the list", median(fromList), "ms", GOALS.open);
  figure("opened by its address, until one can write", median(byAddress), "ms", GOALS.open);

  const gaps = await scroll(page);
  figure("gaps of over 50 ms between frames while it scrolls", gaps.filter((gap) => gap > 50).length, "", GOALS.gaps);
  figure("longest gap", Math.max(...gaps), "ms");
});

/** Follows a link of the list, in the page, until the last question is in sight; says how many milliseconds that took. */
function open({ path, last }: { path: string; last: string }): Promise<number> {
  const begin = performance.now();
  document.querySelector<HTMLElement>(`.conversations a[href="${path}"]`)!.click();
  return new Promise((resolve) => {
    const look = () => {
      const question = [...document.querySelectorAll('article[data-role="user"]')].at(-1);
      const place = question?.textContent?.includes(last) ? question.getBoundingClientRect() : undefined;
      if (place && place.top >= 0 && place.top < innerHeight) resolve(performance.now() - begin);
      else requestAnimationFrame(look);
    };
    look();
  });
}

/** Notes, in the page, when it has come alive. */
function noteWhenAlive(): void {
  const look = () => {
    if (document.body?.hasAttribute("data-hydrated")) window.alive = performance.now();
    else requestAnimationFrame(look);
  };
  look();
}

/** Scrolls up frame by frame, and gives back the times between the frames. */
function scroll(page: Page): Promise<number[]> {
  return page.evaluate(
    ({ step, frames }) =>
      new Promise<number[]>((resolve) => {
        const area = document.querySelector("#thread")!;
        const gaps: number[] = [];
        let before: number | undefined;
        const move = (now: number) => {
          if (before !== undefined) gaps.push(now - before);
          before = now;
          area.scrollBy(0, -step);
          if (gaps.length < frames) requestAnimationFrame(move);
          else resolve(gaps);
        };
        requestAnimationFrame(move);
      }),
    { step: STEP_PX, frames: FRAMES },
  );
}
