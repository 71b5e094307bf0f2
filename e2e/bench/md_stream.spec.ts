// How smoothly the page draws a long answer while it streams in: 128 KB in pieces of 4 characters, 200 a second.

import { setTimeout } from "node:timers/promises";
import type { JSHandle, Page } from "@playwright/test";
import { ChatPage } from "../kit/chat.ts";
import { expect, test } from "../kit/test.ts";
import { QUICK, figure } from "./figure.ts";

test.use({ scripted: true });

const BYTES = (QUICK ? 8 : 128) * 1024;
const PIECE = 4;
const PER_SECOND = 200;

const ANSWERS = {
  "many blocks": repeat("## A part\n\nSome *words* about **it**, with `code`.\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"),
  "one giant code fence": "```rust\n" + repeat("let answer = compute(6, 7); // as ever\n"),
  "one giant paragraph": repeat("One sentence follows another, without end and with *some* weight. "),
};

function repeat(text: string): string {
  return text.repeat(Math.ceil(BYTES / text.length)).slice(0, BYTES);
}

/** The pieces of a text, each at its time, and in `late` by how many milliseconds the latest of them missed it. */
async function* paced(text: string, late: { most: number }): AsyncIterable<string> {
  const begin = performance.now();
  for (let at = 0; at < text.length; at += PIECE) {
    const due = begin + ((at / PIECE) * 1000) / PER_SECOND;
    const early = due - performance.now();
    if (early > 0) await setTimeout(early);
    late.most = Math.max(late.most, performance.now() - due);
    yield text.slice(at, at + PIECE);
  }
}

/** What the page did while the answer grew. */
interface Seen {
  /** The lengths of tasks that the browser calls long: those over 50 ms. */
  tasks: number[];
  /** The times between frames. */
  frames: number[];
  /** How often the answer was drawn, in all and in the fullest frame. */
  drawings: number;
  inOneFrame: number;
  /** Changes within blocks that had another one after them. */
  touched: number;
  /** Done when the answer is. */
  done: Promise<void>;
}

/** Watches the next answer of an empty page. */
function watch(page: Page): Promise<JSHandle<Seen>> {
  return page.evaluateHandle(() => {
    let finish = () => {};
    const done = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const seen = { tasks: [] as number[], frames: [] as number[], drawings: 0, inOneFrame: 0, touched: 0, done };
    // When the answer began: sending is another measurement.
    let begun = Infinity;
    let over = false;

    new PerformanceObserver((list) => {
      const tasks = list.getEntries().filter((entry) => entry.startTime >= begun);
      if (!over) seen.tasks.push(...tasks.map((entry) => entry.duration));
    }).observe({ type: "longtask" });
    let last = performance.now();
    const frame = (now: number) => {
      if (last >= begun) seen.frames.push(now - last);
      last = now;
      if (!over) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);

    const finished = new WeakSet<Node>();
    // Blocks stand in parts.
    const before = (block: Element | null | undefined) =>
      block?.previousElementSibling ?? block?.parentElement?.previousElementSibling?.lastElementChild;
    let drawnAt: CSSNumberish | null = null;
    let drawn = 0;
    const observer = new MutationObserver((changes) => {
      const answer = document.querySelector('article[data-role="assistant"]');
      if (answer && begun === Infinity) begun = performance.now();
      if (answer?.getAttribute("data-status") !== "streaming") {
        // It is drawn once more in the end, for links that are defined after their use.
        if (!answer || over) return;
        over = true;
        observer.disconnect();
        return finish();
      }
      const within = changes.filter(({ type, target }) => {
        // A part that is marked as measured is not drawn.
        if (type === "attributes" && target instanceof Element && target.className === "part") return false;
        return (target instanceof Element ? target : target.parentElement)?.closest(".prose");
      });
      if (within.length === 0) return;
      seen.drawings++;
      // The same within one frame.
      const time = document.timeline.currentTime;
      drawn = time === drawnAt ? drawn + 1 : 1;
      drawnAt = time;
      seen.inOneFrame = Math.max(seen.inOneFrame, drawn);
      for (const { target, removedNodes } of within) {
        for (const node of [target, ...removedNodes]) {
          let block: Node | null = node;
          while (block && !finished.has(block)) block = block.parentNode;
          if (block) seen.touched++;
        }
      }
      let block = before(answer.querySelector(".prose")?.lastElementChild?.lastElementChild);
      for (; block && !finished.has(block); block = before(block)) finished.add(block);
    });
    observer.observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
    return seen;
  });
}

for (const [name, text] of Object.entries(ANSWERS)) {
  test(name, async ({ page, model }) => {
    const chat = new ChatPage(page);
    await page.goto("/");
    // What it takes to begin is another measurement.
    await expect(page.getByTestId("composer")).toBeEnabled();
    const watched = await watch(page);
    const late = { most: 0 };
    model.answer(paced(text, late));
    const answer = await chat.send("Write at length.");
    // Without asking the page again and again, which would be work for it.
    await watched.evaluate((seen) => seen.done);
    await expect(answer).toHaveAttribute("data-status", "complete");

    const { tasks, frames, drawings, inOneFrame, touched } = await watched.jsonValue();
    const most = (values: number[]) => Math.max(0, ...values);
    figure("frames with over 50 ms of work", tasks.length, "", 0);
    figure("most work in one frame", most(tasks), "ms");
    figure("gaps of over 50 ms between frames", frames.filter((gap) => gap > 50).length, "", 0);
    figure("longest gap", most(frames), "ms");
    figure("changes in finished blocks", touched, "", 0);
    figure("drawings in one frame, at most", inOneFrame, "", 1);
    figure("drawings", drawings, "");
    figure("frames", frames.length, "");
    figure("the model's pieces came late by at most", late.most, "ms");
  });
}
