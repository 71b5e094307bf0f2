// Measures the cost of a first visit, compared with a page that has the same content but no scripts. Each visit uses a new
// browser with an empty cache; the two pages alternate.

import type { BrowserType, Page } from "@playwright/test";
import { ChatPage } from "../kit/chat.ts";
import { converse } from "../kit/converse.ts";
import { expect, test } from "../kit/test.ts";
import { QUICK, figure, median } from "./figure.ts";
import { fetchRaw, visitBoth } from "./still.ts";
import { type Visit, visit } from "./visit.ts";

test.use({ demoPaceMs: 0 });

const ROUNDS = QUICK ? 1 : 7;
/** Number of turns in the conversation. Each turn has two messages. */
const TURNS = 10;

const GOALS = { kilobytes: 320, paint: 2.5, shift: 0, blocking: 100 };

test("a new chat", async ({ playwright, server }) => {
  await compare(playwright.chromium, server.url, "/");
});

test(`a conversation of ${2 * TURNS} messages`, async ({ playwright, server, request }) => {
  await compare(playwright.chromium, server.url, await converse(request, TURNS));
});

test("the first message", async ({ playwright, server }) => {
  await further(playwright.chromium, `${server.url}/`, async (page) => {
    await new ChatPage(page).ask("What is (12.5 + 7.25) × 4?");
  });
});

test("the first press in a conversation", async ({ playwright, server, request }) => {
  await further(playwright.chromium, server.url + (await converse(request, TURNS)), async (page) => {
    await page.getByTestId("tool-group").last().click();
    await expect(page.locator(".tool-line").last()).toBeVisible();
  });
});

/** Measures what an action on a page that has settled costs in addition. */
async function further(browsers: BrowserType, address: string, act: (page: Page) => Promise<void>): Promise<void> {
  const costs: Visit[] = [];
  for (let round = 0; round < ROUNDS; round++) costs.push(await visit(browsers, address, "body[data-alive]", { act }));
  const bytes = costs[0]!.bytes;
  const all = [...bytes.values()].reduce((sum, size) => sum + size, 0);
  figure("on the wire in all", all / 1000, "KB");
  for (const [kind, size] of bytes) figure(`of that ${kind}`, size / 1000, "KB");
  figure("blocking time", median(costs.map((cost) => cost.blocking)), "ms", GOALS.blocking);
}

async function compare(browsers: BrowserType, url: string, path: string): Promise<void> {
  const { ours, theirs } = await visitBoth(browsers, url, path, ROUNDS);
  const bytes = ours[0]!.bytes;
  const icon = await fetchRaw(`${url}/favicon.svg`);
  // A headless browser shows no icon, so it does not request it.
  if (!bytes.has(".svg")) bytes.set(".svg", icon.body.length);
  const all = [...bytes.values()].reduce((sum, size) => sum + size, 0);
  figure("on the wire in all", all / 1000, "KB", GOALS.kilobytes);
  for (const [kind, size] of bytes) figure(`of that ${kind}`, size / 1000, "KB");
  const paint = (visits: Visit[]) => median(visits.map((visit) => visit.paint));
  figure("largest paint, against the still page", paint(ours) / paint(theirs), "times", GOALS.paint);
  figure("largest paint", paint(ours), "ms");
  figure("largest paint of the still page", paint(theirs), "ms");
  figure("layout shift, the worst round", Math.max(...ours.map((visit) => visit.shift)), "", GOALS.shift);
  figure("blocking time", median(ours.map((visit) => visit.blocking)), "ms", GOALS.blocking);
}
