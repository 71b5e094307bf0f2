// How smoothly the page draws a long answer while it streams in: 128 KB in pieces of 4 characters, 200 a second.

import { setTimeout } from "node:timers/promises";
import { ChatPage } from "../kit/chat.ts";
import { expect, test } from "../kit/test.ts";

test.use({ scripted: true });

const BYTES = 128 * 1024;
const PIECE = 4;
const PER_SECOND = 200;
/** A slice of time, in which so many pieces come as are due: timers are not exact. */
const SLICE_MS = 10;

const ANSWERS = {
  "many blocks": repeat("## A part\n\nSome *words* about **it**, with `code`.\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"),
  "one giant code fence": "```rust\n" + repeat("let answer = compute(6, 7); // as ever\n"),
  "one giant paragraph": repeat("One sentence follows another, without end and with *some* weight. "),
};

function repeat(text: string): string {
  return text.repeat(Math.ceil(BYTES / text.length)).slice(0, BYTES);
}

async function* paced(text: string): AsyncIterable<string> {
  const begin = performance.now();
  let at = 0;
  while (at < text.length) {
    const due = Math.floor(((performance.now() - begin) / 1000) * PER_SECOND) * PIECE;
    for (; at < Math.min(due, text.length); at += PIECE) yield text.slice(at, at + PIECE);
    await setTimeout(SLICE_MS);
  }
}

for (const [name, text] of Object.entries(ANSWERS)) {
  test(name, async ({ page, model }) => {
    const chat = new ChatPage(page);
    await page.goto("/");
    // What is long about a frame is the page's own work in it, which the browser tells of from 50 ms on.
    const long = await page.evaluateHandle(() => {
      const seen = { tasks: [] as number[], frames: 0 };
      new PerformanceObserver((list) => seen.tasks.push(...list.getEntries().map((entry) => entry.duration))).observe({
        type: "longtask",
      });
      const count = () => {
        seen.frames++;
        requestAnimationFrame(count);
      };
      requestAnimationFrame(count);
      return seen;
    });
    model.answer(paced(text));
    const answer = await chat.send("Write at length.");
    await expect(answer).toHaveAttribute("data-status", "complete");
    const { tasks, frames } = await long.jsonValue();
    const longest = Math.round(Math.max(0, ...tasks));
    console.log(`md_stream, ${name}: ${frames} frames, ${tasks.length} with over 50 ms of work, the longest ${longest} ms`);
  });
}
