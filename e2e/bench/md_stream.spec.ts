// Measures how smoothly the page draws a long answer while it streams in: 128 KiB, and 3,000 words on a slow processor. The
// answer comes in pieces of 4 characters, 200 of them a second.

import { ChatPage, alive } from "../kit/chat.ts";
import { expect, test } from "../kit/test.ts";
import { QUICK, figure, percentile } from "./figure.ts";
import { paced, watch } from "./stream.ts";
import { slowDown } from "./visit.ts";

test.use({ scripted: true });

const BYTES = (QUICK ? 8 : 128) * 1024;

const ANSWERS = {
  "many blocks": repeat("## A part\n\nSome *words* about **it**, with `code`.\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"),
  "one giant code fence": "```rust\n" + repeat("let answer = compute(6, 7); // as ever\n"),
  "one giant paragraph": repeat("One sentence follows another, without end and with *some* weight. "),
};

function repeat(text: string): string {
  return text.repeat(Math.ceil(BYTES / text.length)).slice(0, BYTES);
}

for (const [name, text] of Object.entries(ANSWERS)) {
  test(name, async ({ page, model }) => {
    const chat = new ChatPage(page);
    await page.goto("/");
    // Startup is not part of this measurement.
    await alive(page);
    const watched = await watch(page);
    const late = { most: 0 };
    model.answer(paced(text, late));
    const answer = await chat.send("Write at length.");
    // Waits for one promise instead of polling, because polling would give the page work.
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

const WORDS = QUICK ? 300 : 3000;

/** Block of Markdown that the answer repeats until it has enough words. */
const PART = `## What it comes to

The sum of the first two is *nearly* as large as the third, and **that** is why the bill splits as it does: everybody pays
for one meal, one drink and a share of the tip.

- one part for each of those who came early
- one part for each of those who came late

\`\`\`rust
let share = bill * tip / people; // rounded to the cent
\`\`\`

| who | pays |
|---|---|
| each | 31.24 |

`;

test(`${WORDS} words on a slow processor`, async ({ page, model }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  await alive(page);
  await slowDown(page);
  const watched = await watch(page);
  const late = { most: 0 };
  model.answer(paced(PART.repeat(Math.ceil(WORDS / PART.split(/\s+/).length)), late));
  const answer = await chat.send("Write at length.");
  await watched.evaluate((seen) => seen.done);
  await expect(answer).toHaveAttribute("data-status", "complete");

  const { tasks, frames } = await watched.jsonValue();
  figure("time between frames, 95th percentile", percentile(frames, 0.95), "ms", 50);
  figure("the longest task", Math.max(0, ...tasks), "ms", 100);
  figure("tasks of over 50 ms", tasks.length, "");
  figure("the model's pieces came late by at most", late.most, "ms");
});
