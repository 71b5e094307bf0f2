// A turn whose events the test sends one by one, for what the demo model never does: tools that take minutes.

import type { Clock, Page } from "@playwright/test";
import { alive } from "./chat.ts";

/** A running turn. */
export interface LiveTurn {
  /** Sends an event to the page, as if it came from the server. */
  say(event: string, data: object): Promise<void>;
}

declare global {
  interface Window {
    sayToReader(text: string): void;
  }
}

/** Blocks the page's event feed. The feed would make the page read the stored conversation, which has no scripted turn. */
export async function withoutFeed(page: Page): Promise<void> {
  await page.route("**/api/events", () => {});
}

/** Responds to the next message with the events that the test sends. Call it before the page is opened. */
export async function scriptTurn(page: Page): Promise<LiveTurn> {
  await page.addInitScript(() => {
    const real = window.fetch;
    window.fetch = async (input, init) => {
      const url = input instanceof Request ? input.url : String(input);
      if (init?.method !== "POST" || !url.endsWith("/messages")) return real(input, init);
      const body = new ReadableStream<Uint8Array>({
        start(stream) {
          const say = (text: string) => stream.enqueue(new TextEncoder().encode(text));
          window.sayToReader = say;
          // The page treats a stream without data as dead.
          setInterval(() => say(": keep-alive\n\n"), 4_000);
        },
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    };
  });
  let number = 0;
  return {
    async say(event, data) {
      number += 1;
      const frame = `id: 2.1.${number}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
      await page.waitForFunction(() => "sayToReader" in window);
      await page.evaluate((text) => window.sayToReader(text), frame);
    },
  };
}

/** Data of the `message_start` event of a scripted turn. */
export const started = {
  user_message_id: 1,
  assistant_message_id: 2,
  conversation_id: "00000000-0000-4000-8000-000000000001",
  content: "Take your time",
};

/** Opens a new chat with a fake clock: time passes only when the test advances the clock. Drawing waits for it, too. */
export async function stopClock(page: Page): Promise<Clock> {
  const start = Date.now();
  await page.clock.install({ time: start });
  await page.goto("/");
  await alive(page);
  await page.clock.pauseAt(start + 60_000);
  return page.clock;
}

/** Opens a new chat and sends a question, which is reported as stored. The test then sends the events of the answer. */
export async function playTurn(page: Page): Promise<LiveTurn> {
  await withoutFeed(page);
  const turn = await scriptTurn(page);
  await page.goto("/");
  await begin(page, turn);
  return turn;
}

/** Does the same as `playTurn`, with a fake clock that only the test advances. */
export async function playTurnByClock(page: Page): Promise<{ turn: LiveTurn; clock: Clock }> {
  await withoutFeed(page);
  const turn = await scriptTurn(page);
  const clock = await stopClock(page);
  await begin(page, turn);
  return { turn, clock };
}

async function begin(page: Page, turn: LiveTurn): Promise<void> {
  await page.getByTestId("composer").fill(started.content);
  await page.getByTestId("send").click();
  await turn.say("message_start", started);
}
