// Taking over what the server drew: the newest messages first, and nothing that is done meanwhile is lost.

import { converse } from "../kit/converse.ts";
import { expect, test } from "../kit/test.ts";

test.use({ demoPaceMs: 0 });

declare global {
  interface Window {
    /** Lets frames come again. */
    releaseFrames(): void;
  }
}

test("what is pressed in a message before it is alive is done when it is", async ({ page, request }) => {
  const turns = 10;
  const address = await converse(request, turns);
  // The page has no more frames once its newest messages are alive, so the others wait.
  await page.addInitScript(() => {
    const ask = window.requestAnimationFrame.bind(window);
    let held: FrameRequestCallback[] | undefined = [];
    window.requestAnimationFrame = (act) => (held && document.body?.hasAttribute("data-alive") ? held.push(act) : ask(act));
    window.releaseFrames = () => {
      const acts = held ?? [];
      held = undefined;
      acts.forEach(ask);
    };
  });
  await page.goto(address);
  await expect(page.locator("body")).toHaveAttribute("data-alive", "");
  const messages = page.locator("article");
  const calls = messages.nth(1).getByTestId("tool-group");
  await calls.click();
  await expect(calls, "nobody hears it yet").toHaveAttribute("aria-expanded", "false");
  await page.evaluate(() => window.releaseFrames());
  await expect(calls).toHaveAttribute("aria-expanded", "true");
  await expect(calls, "the focus is where it was").toBeFocused();
  await expect(page.locator("[data-drawn]")).toHaveCount(0);
  await expect(messages).toHaveCount(2 * turns);
});
