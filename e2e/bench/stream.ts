// Streams an answer at a steady pace, and records how the page draws it.

import { setTimeout } from "node:timers/promises";
import type { JSHandle, Page } from "@playwright/test";

/** Size of a piece, in characters. */
const PIECE = 4;
const PER_SECOND = 200;

/** Yields the pieces of a text, each at its time. `late.most` is the largest delay of a piece, in milliseconds. */
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

/** Measurements of the page while the answer grew. */
export interface Seen {
  /** Durations of the tasks that the browser reports as long (over 50 ms), in milliseconds. */
  tasks: number[];
  /** Times between frames, in milliseconds. */
  frames: number[];
  /** Number of times the answer was drawn: in total, and the maximum within one frame. */
  drawings: number;
  inOneFrame: number;
  /** Number of changes within blocks that already had another block after them. */
  touched: number;
  /** Resolves when the answer has ended. */
  done: Promise<void>;
}

/** Measures the page during the next answer, which must be the first of the page. */
export function watch(page: Page): Promise<JSHandle<Seen>> {
  return page.evaluateHandle(() => {
    let finish = () => {};
    const done = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const seen = { tasks: [] as number[], frames: [] as number[], drawings: 0, inOneFrame: 0, touched: 0, done };
    // Time when the answer began. Sending the question is not part of this measurement.
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
    // The blocks of an answer are grouped into parts.
    const before = (block: Element | null | undefined) =>
      block?.previousElementSibling ?? block?.parentElement?.previousElementSibling?.lastElementChild;
    let drawnAt: CSSNumberish | null = null;
    let drawn = 0;
    const observer = new MutationObserver((changes) => {
      const answer = document.querySelector('article[data-role="assistant"]');
      if (answer && begun === Infinity) begun = performance.now();
      if (answer?.getAttribute("data-status") !== "streaming") {
        // At the end the answer is drawn again, for links that are defined after their use. That drawing does not count.
        if (!answer || over) return;
        over = true;
        observer.disconnect();
        return finish();
      }
      const within = changes.filter(({ type, target }) => {
        // Marking a part as measured changes an attribute of the part, but draws nothing.
        if (type === "attributes" && target instanceof Element && target.className === "part") return false;
        return (target instanceof Element ? target : target.parentElement)?.closest(".prose");
      });
      if (within.length === 0) return;
      seen.drawings++;
      // The timeline's time is the same for all drawings within one frame.
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
