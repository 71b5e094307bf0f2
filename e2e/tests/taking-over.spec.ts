// Taking over what the server drew: the newest messages first, and nothing that is done meanwhile is lost.

import type { Page } from "@playwright/test";
import { ChatPage } from "../kit/chat.ts";
import { converse } from "../kit/converse.ts";
import { expect, test } from "../kit/test.ts";

test.use({ demoPaceMs: 0 });

declare global {
  interface Window {
    /** Lets what was held go on. */
    release(): void;
  }
}

/** The page has no more frames, or tasks of its own, once it is alive, so what is built after that waits. */
async function hold(page: Page, what: "requestAnimationFrame" | "setTimeout"): Promise<void> {
  await page.addInitScript((what) => {
    const ask = window[what].bind(window) as (act: () => void, ...rest: unknown[]) => number;
    let held: (() => void)[] | undefined = [];
    // Timers that really wait are not for building.
    const holding = (act: () => void, ...rest: unknown[]) =>
      held && !rest[0] && document.body?.hasAttribute("data-alive") ? held.push(() => ask(act, ...rest)) : ask(act, ...rest);
    Object.assign(window, { [what]: holding });
    window.release = () => {
      const acts = held ?? [];
      held = undefined;
      for (const act of acts) act();
    };
  }, what);
}

test("what is pressed in a message before it is alive is done when it is", async ({ page, request }) => {
  const turns = 10;
  const address = await converse(request, turns);
  await hold(page, "requestAnimationFrame");
  await page.goto(address);
  await expect(page.locator("body")).toHaveAttribute("data-alive", "");
  const messages = page.locator("article");
  const calls = messages.nth(1).getByTestId("tool-group");
  await calls.click();
  await expect(calls, "nobody hears it yet").toHaveAttribute("aria-expanded", "false");
  await page.evaluate(() => window.release());
  await expect(calls).toHaveAttribute("aria-expanded", "true");
  await expect(calls, "the focus is where it was").toBeFocused();
  await expect(page.locator("[data-drawn]")).toHaveCount(0);
  await expect(messages).toHaveCount(2 * turns);
});

test("one can write, and go elsewhere, before the list and the header are alive", async ({ page, request }) => {
  const address = await converse(request, 1);
  await hold(page, "setTimeout");
  await page.goto("/");
  await expect(page.locator("body")).toHaveAttribute("data-alive", "");
  const sidebar = page.getByTestId("sidebar");
  await expect(sidebar).toHaveAttribute("data-drawn", "");
  const chat = new ChatPage(page);
  await expect(await chat.send("What is 2 + 3?")).toBeVisible();
  await sidebar.locator(`[href="${address}"]`).click();
  await expect(page).toHaveURL(address);
  await expect(chat.answers).toHaveCount(1);
  await sidebar.getByTestId("new-chat").focus();
  await expect(sidebar.getByTestId("search")).toBeDisabled();
  await page.evaluate(() => window.release());
  await expect(sidebar.getByTestId("search")).toBeEnabled();
  await expect(sidebar.getByTestId("new-chat"), "the focus is where it was").toBeFocused();
  await expect(sidebar.locator("[aria-current]")).toHaveAttribute("href", address);
  await expect(page.locator("[data-drawn]")).toHaveCount(0);
});
