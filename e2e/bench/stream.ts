// An answer that streams in at a steady pace, and what the page does meanwhile.

import { setTimeout } from "node:timers/promises";
import type { JSHandle, Page } from "@playwright/test";

/** In characters. */
const PIECE = 4;
const PER_SECOND = 200;

/** The pieces of a text, each at its time, and in `late` by how many milliseconds the latest of them missed it. */
export async function* paced(text: string, late: { most: number }): AsyncIterable<string> {
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
export interface Seen {
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
export function watch(page: Page): Promise<JSHandle<Seen>> {
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
