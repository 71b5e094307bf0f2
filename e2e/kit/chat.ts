// Page object of the chat page: the actions of a user.

import { type Locator, type Page, expect } from "@playwright/test";
import { gate } from "./model.ts";

export class ChatPage {
  readonly messages: Locator;
  readonly answers: Locator;

  constructor(readonly page: Page) {
    this.messages = page.locator("article[data-role]");
    this.answers = page.locator('article[data-role="assistant"]');
  }

  /** Returns the API path of the open conversation. */
  api(): string {
    return `/api${new URL(this.page.url()).pathname.replace("/c/", "/conversations/")}`;
  }

  /** Types a message, sends it, and returns the answer to it, which is about to begin. */
  async send(text: string): Promise<Locator> {
    const before = await this.answers.count();
    await this.page.getByTestId("composer").fill(text);
    await this.page.getByTestId("send").click();
    return this.answers.nth(before);
  }

  /** Sends a message, and waits until its answer is complete. */
  async ask(text: string): Promise<Locator> {
    const answer = await this.send(text);
    await expect(answer).toHaveAttribute("data-status", "complete");
    return answer;
  }

  /**
   * Returns the text of every message as a reader sees it while all groups of tool calls are closed. It leaves out texts that only
   * screen readers announce, times, and authors.
   */
  transcript(): Promise<string[]> {
    // Reads all messages in one step: between two steps, the mounted version of a message may replace the server-rendered one.
    return this.page.evaluate(() =>
      [...document.querySelectorAll("article[data-role]")].map((message) => {
        const copy = message.cloneNode(true) as Element;
        for (const other of copy.querySelectorAll("[role=status], time, .author, [data-grouped]")) other.remove();
        return copy.textContent;
      }),
    );
  }
}

/** Waits until the page is interactive. Users can type before that; a test that relies on it should say so. */
export async function alive(page: Page): Promise<void> {
  await expect(page.locator("body")).toHaveAttribute("data-alive", "");
}

/** Waits until everything is interactive but the header and the list, which become interactive when they are used. */
export async function mounted(page: Page): Promise<void> {
  await alive(page);
  // The code of the messages loads when they are used, for example when one gets the focus.
  await page.evaluate(() => document.getElementById("thread")?.dispatchEvent(new FocusEvent("focusin", { bubbles: true })));
  await expect(page.locator("[data-drawn]:not(#header, #sidebar)")).toHaveCount(0);
}

/** Holds back the page's WASM module, so that the page cannot become interactive. Returns a function that releases it. */
export async function holdProgram(page: Page, file = "tallybook_bg"): Promise<() => void> {
  const held = gate();
  await page.route(`**/${file}.wasm`, async (route) => {
    await held.opened;
    await route.continue();
  });
  return held.open;
}

/**
 * Returns the place and size of an element in the window, in CSS pixels. Finds and measures it in one step: between two steps, the
 * page may replace it by its mounted version.
 */
export function boxOf(target: Locator): Promise<{ x: number; y: number; width: number; height: number }> {
  return target.evaluate((element) => element.getBoundingClientRect().toJSON());
}

/** Returns the tool calls of an answer. Calls in groups that were never opened are not in the document. */
export function toolCalls(answer: Locator): Locator {
  return answer.getByTestId("tool-call");
}

/** Opens the menu of an answer, and returns it. */
export async function openMenu(answer: Locator): Promise<Locator> {
  await answer.getByTestId("more").click();
  const menu = answer.page().getByTestId("message-menu");
  await expect(menu).toBeVisible();
  return menu;
}

/** Chooses an action from the menu of an answer. */
export async function act(answer: Locator, action: string): Promise<void> {
  await (await openMenu(answer)).getByTestId(action).click();
}

/** Opens all closed groups of tool calls of an answer. */
export async function openGroups(answer: Locator): Promise<void> {
  for (const group of await answer.getByTestId("tool-group").all()) {
    if ((await group.getAttribute("aria-expanded")) === "false") await group.click();
    await expect(group).toHaveAttribute("aria-expanded", "true");
  }
}

/**
 * Returns all text of an answer, in order, without the parts that may differ between runs. Those are the durations of tool calls,
 * texts that only screen readers announce, time, author, and usage, which grows with the earlier conversation. Leaves the groups
 * of tool calls open.
 */
export async function untimedText(answer: Locator): Promise<string> {
  await openGroups(answer);
  const id = await answer.getAttribute("id");
  // The element that was found may since have been replaced with another element for the same answer.
  return await answer.page().evaluate((id) => {
    const copy = document.getElementById(id!)!.cloneNode(true) as Element;
    for (const passing of copy.querySelectorAll(".tool-duration, .usage, time, .author, [role=status]")) passing.remove();
    return copy.textContent;
  }, id);
}

/** Records every text that the newest answer shows from now on, in order, at each change of the page. The result reads the records. */
export async function watchAnswer(page: Page): Promise<() => Promise<string[]>> {
  const texts = await page.evaluateHandle(() => {
    const seen: string[] = [];
    new MutationObserver(() => {
      const answers = document.querySelectorAll('article[data-role="assistant"]');
      const text = answers[answers.length - 1]?.textContent ?? "";
      if (seen.at(-1) !== text) seen.push(text);
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
    return seen;
  });
  return () => texts.jsonValue();
}
