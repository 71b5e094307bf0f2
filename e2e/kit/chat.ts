// The chat page as a person uses it.

import { type Locator, type Page, expect } from "@playwright/test";
import { gate } from "./model.ts";

export class ChatPage {
  readonly messages: Locator;
  readonly answers: Locator;

  constructor(readonly page: Page) {
    this.messages = page.locator("article[data-role]");
    this.answers = page.locator('article[data-role="assistant"]');
  }

  /** Where the API has the conversation that is open. */
  api(): string {
    return `/api${new URL(this.page.url()).pathname.replace("/c/", "/conversations/")}`;
  }

  /** Types a message, sends it, and gives back the answer that begins. */
  async send(text: string): Promise<Locator> {
    const before = await this.answers.count();
    await this.page.getByTestId("composer").fill(text);
    await this.page.getByTestId("send").click();
    return this.answers.nth(before);
  }

  /** Sends a message and waits for the end of its answer. */
  async ask(text: string): Promise<Locator> {
    const answer = await this.send(text);
    await expect(answer).toHaveAttribute("data-status", "complete");
    return answer;
  }

  /** Every message as a reader sees it whose groups of calls are closed, without what is only spoken for a moment, and when and by
   * whom it was written. */
  transcript(): Promise<string[]> {
    // All in one look: between two, a message that the server drew may have made way for one that is alive.
    return this.page.evaluate(() =>
      [...document.querySelectorAll("article[data-role]")].map((message) => {
        const copy = message.cloneNode(true) as Element;
        for (const other of copy.querySelectorAll("[role=status], time, .author, [data-grouped]")) other.remove();
        return copy.textContent;
      }),
    );
  }
}

/** Waits until a page hears all that is done in it. One can write before, and tests that do so should say so. */
export async function alive(page: Page): Promise<void> {
  await expect(page.locator("body")).toHaveAttribute("data-alive", "");
}

/** Holds the page's program back, so that the page is not alive before it is let go. */
export async function holdProgram(page: Page): Promise<() => void> {
  const held = gate();
  await page.route("**/tallybook_bg.wasm", async (route) => {
    await held.opened;
    await route.continue();
  });
  return held.open;
}

/** The tool calls of an answer. Those in groups that were never open are not there. */
export function toolCalls(answer: Locator): Locator {
  return answer.getByTestId("tool-call");
}

/** Opens the groups of tool calls of an answer that are closed. */
export async function openGroups(answer: Locator): Promise<void> {
  for (const group of await answer.getByTestId("tool-group").all()) {
    if ((await group.getAttribute("aria-expanded")) === "false") await group.click();
    await expect(group).toHaveAttribute("aria-expanded", "true");
  }
}

/**
 * All that an answer holds, in order, without what may differ from run to run: how long its tool calls took, what was only
 * spoken, and what it cost, which grows with what was said before. Its groups are open from then on.
 */
export async function untimedText(answer: Locator): Promise<string> {
  await openGroups(answer);
  const id = await answer.getAttribute("id");
  // The element that was found may have made way for another one since, which is the same answer.
  return await answer.page().evaluate((id) => {
    const copy = document.getElementById(id!)!.cloneNode(true) as Element;
    for (const passing of copy.querySelectorAll(".tool-duration, .usage, time, .author, [role=status]")) passing.remove();
    return copy.textContent;
  }, id);
}

/** Writes down every text that the newest answer shows from now on, in order, as seen at each change of the page. */
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
