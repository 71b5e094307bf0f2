// Tests many visible windows of one browser: they share the list feed, and every request finds a free connection. Browsers open
// only six connections to a host over HTTP/1.1.

import type { BrowserContext, Page } from "@playwright/test";
import { ChatPage, alive } from "../kit/chat.ts";
import { gate } from "../kit/model.ts";
import { chooseInMenu, row } from "../kit/sidebar.ts";
import { expect, test } from "../kit/test.ts";

test.use({ scripted: true, settings: { LLM_TITLES: "false" } });

/** Counts the feed's requests of each page of a context. */
function countFeeds(context: BrowserContext): Map<Page, number> {
  const counts = new Map<Page, number>();
  context.on("request", (request) => {
    if (new URL(request.url()).pathname !== "/api/events") return;
    const page = request.frame().page();
    counts.set(page, (counts.get(page) ?? 0) + 1);
  });
  return counts;
}

/** Opens pages on a conversation, one after another. */
async function openPages(context: BrowserContext, count: number, address: string): Promise<Page[]> {
  const pages: Page[] = [];
  for (let number = 0; number < count; number += 1) {
    const page = await context.newPage();
    await page.goto(address);
    await alive(page);
    pages.push(page);
  }
  return pages;
}

test("ten windows share one feed, and messages and names reach all of them", async ({ context, request, model }) => {
  const feeds = countFeeds(context);
  const { uuid } = await (await request.post("/api/conversations", { data: { title: "Plums" } })).json();
  const pages = await openPages(context, 10, `/c/${uuid}`);
  const last = pages.at(-1)!;
  await expect(row(last, "Plums")).toBeVisible();

  model.answer(["It is 2."]);
  const answer = await new ChatPage(last).ask("What is 1 + 1?");
  await expect(answer).toContainText("It is 2.");
  for (const page of pages) await expect(page.locator('article[data-role="assistant"]')).toContainText("It is 2.");

  await chooseInMenu(row(pages[4]!, "Plums"), "rename");
  await expect(pages[4]!.getByTestId("rename-field")).toBeFocused();
  await pages[4]!.keyboard.type("Quinces");
  await pages[4]!.keyboard.press("Enter");
  for (const page of pages) await expect(row(page, "Quinces")).toBeVisible();
  expect([...feeds.keys()], "one page reads the feed").toEqual([pages[0]]);

  const next = context.waitForEvent("request", (asked) => new URL(asked.url()).pathname === "/api/events");
  await pages[0]!.close();
  const leader = (await next).frame().page();
  expect(leader, "another page leads").not.toBe(pages[0]);
  await request.patch(`/api/conversations/${uuid}`, { data: { title: "Pears" } });
  for (const page of pages.slice(1)) await expect(row(page, "Pears")).toBeVisible();
  expect(feeds.size).toBe(2);
});

test("windows that follow a running answer leave a connection for Stop", async ({ context, request, model }) => {
  const { uuid } = await (await request.post("/api/conversations", { data: { title: "Long" } })).json();
  const pages = await openPages(context, 8, `/c/${uuid}`);
  const end = gate();
  model.answer(
    (async function* () {
      yield "So far.";
      await end.opened;
    })(),
  );
  await new ChatPage(pages[0]!).send("Go");
  for (const page of pages) await expect(page.locator('article[data-role="assistant"]')).toContainText("So far.");
  await pages.at(-1)!.getByTestId("stop").click();
  for (const page of pages) {
    await expect(page.locator('article[data-role="assistant"]')).toHaveAttribute("data-status", "stopped");
  }
  end.open();
});

test("a frozen leader is replaced", async ({ context, request }) => {
  const feeds = countFeeds(context);
  const { uuid } = await (await request.post("/api/conversations", { data: { title: "Plums" } })).json();
  const [leader, other] = await openPages(context, 2, `/c/${uuid}`);
  expect([...feeds.keys()]).toEqual([leader]);
  const taken = other!.waitForRequest((asked) => new URL(asked.url()).pathname === "/api/events", { timeout: 60_000 });
  const debug = await context.newCDPSession(leader!);
  await debug.send("Debugger.enable");
  const paused = new Promise((resolve) => debug.once("Debugger.paused", resolve));
  await debug.send("Debugger.pause");
  await paused;
  await taken;
  await debug.send("Debugger.disable");
  await request.patch(`/api/conversations/${uuid}`, { data: { title: "Pears" } });
  for (const page of [leader!, other!]) await expect(row(page, "Pears")).toBeVisible();
});

test("without locks each window reads the feed", async ({ context, request }) => {
  const feeds = countFeeds(context);
  await context.addInitScript(() => Object.defineProperty(navigator, "locks", { value: undefined }));
  const { uuid } = await (await request.post("/api/conversations", { data: { title: "Plums" } })).json();
  const pages = await openPages(context, 2, `/c/${uuid}`);
  await expect.poll(() => feeds.size).toBe(2);
  await request.patch(`/api/conversations/${uuid}`, { data: { title: "Pears" } });
  for (const page of pages) await expect(row(page, "Pears")).toBeVisible();
});
