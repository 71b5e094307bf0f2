// Tests what scripts add to the tool history. A turn plays in place, and the next page of calls is appended. Times are also shown
// in the user's time zone, and the result of a re-run appears by itself. Without scripts, each of these takes page loads.

import type { APIRequestContext, Page } from "@playwright/test";
import { converse } from "../kit/converse.ts";
import { gate } from "../kit/model.ts";
import { expect, test } from "../kit/test.ts";

test.use({ demoPaceMs: 0, timezoneId: "Asia/Tokyo" });

/** Lets the demo model add two numbers. Returns the path of the page of that tool call. */
async function called(request: APIRequestContext): Promise<string> {
  const { uuid } = await (await request.post("/api/conversations", { data: {} })).json();
  const answer = await request.post(`/api/conversations/${uuid}/messages`, { data: { content: "What is 12.5 + 7.25?" } });
  expect(await answer.text()).toContain("event: message_end");
  const { messages } = await (await request.get(`/api/conversations/${uuid}`)).json();
  return `/admin/calls/${messages.at(-1).tool_calls[0].tool_call_id}`;
}

/** Counts the pages that are loaded from now on. */
function pagesOf(page: Page): () => number {
  let pages = 0;
  page.on("request", (request) => (pages += Number(request.isNavigationRequest())));
  return () => pages;
}

test("a turn plays in place, is paused, stepped through and played faster", async ({ page, request }) => {
  const call = await called(request);
  await page.clock.install();
  await page.goto(`${call}/playback`);
  await page.clock.pauseAt(Date.now() + 60_000);
  const pages = pagesOf(page);
  const [stage, played] = [page.locator("#playback"), page.getByTestId("played")];
  await expect(played).not.toContainText("19.75");
  await page.locator("#way-1").click();
  await expect(stage).toHaveAttribute("data-speed", "1");
  await expect(page.locator("#way-1")).toHaveAttribute("aria-current", "true");
  await page.locator("#way-pause").click();
  await expect(stage).not.toHaveAttribute("data-speed");
  await page.clock.runFor(60_000);
  await expect(stage, "playback is paused").toHaveAttribute("data-at", "0");

  await page.locator("#way-2").click();
  await expect(stage).toHaveAttribute("data-speed", "2");
  await expect.poll(async () => {
    await page.clock.runFor(200);
    return await stage.getAttribute("data-after");
  }, "it plays to its end").toBe(null);
  await expect(played).toContainText("19.75");
  await expect(page.locator("#way-pause")).toHaveAttribute("aria-current", "true");

  await page.locator("#way-first").click();
  await expect(played).not.toContainText("19.75");
  await page.locator("#way-on").focus();
  for (let step = 0; step < 20 && (await stage.getAttribute("data-after")) !== null; step++) {
    const at = await stage.getAttribute("data-at");
    await page.keyboard.press("Enter");
    await expect(stage).not.toHaveAttribute("data-at", at!);
    await expect(page.locator("#way-on"), "the keyboard stays where it is").toBeFocused();
  }
  await expect(played).toContainText("19.75");
  expect(pages(), "no page was loaded").toBe(0);
  await expect(page, "the address contains the position").toHaveURL(/\/playback\?at=\d+$/);
});

test("the next page is appended, and keyboard navigation continues there", async ({ page, request, browser, baseURL }) => {
  await converse(request, 26);
  await page.goto("/admin");
  const calls = page.getByTestId("call");
  await expect(calls).toHaveCount(50);
  const pages = pagesOf(page);
  await page.getByTestId("next").click();
  await expect(calls).not.toHaveCount(50);
  await expect(calls.nth(50).getByRole("link").first()).toBeFocused();
  const ids = await calls.locator(".when a").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
  expect(new Set(ids).size).toBe(ids.length);
  expect(pages()).toBe(0);
  await expect(page).toHaveURL(/after=/);

  const plain = await browser.newContext({ baseURL: baseURL!, javaScriptEnabled: false });
  const other = await plain.newPage();
  await other.goto("/admin");
  await other.getByTestId("next").click();
  await expect(other.getByTestId("call")).toHaveCount(ids.length - 50);
  await plain.close();
});

test("times are also in the user's time zone, and a click on a value filters by it", async ({ page, request }) => {
  const call = await called(request);
  await page.goto(call);
  const began = page.locator(".history-facts time").first();
  await expect(began).toHaveText(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC \(.*(GMT\+9|JST)\)$/);
  await page.goto("/admin");
  await expect(page.locator(".when time").first()).toHaveAttribute("title", /GMT\+9|JST/);
  await page.getByTestId("call").first().getByRole("link", { name: "built-in" }).click();
  await expect(page.locator("#q")).toHaveValue("server:built-in");
  await page.getByTestId("call").first().locator("a.history-status").click();
  await expect(page.locator("#q")).toHaveValue("server:built-in status:success");
});

test("the result of a re-run appears by itself", async ({ page, request }) => {
  const call = await called(request);
  await page.goto(call);
  await page.locator(".history-rerun button").click();
  await expect(page.getByTestId("again").locator("pre").last()).toHaveText("19.75");
  // Restores the state of a moment earlier, when the re-run was still running.
  const held = gate();
  let asked = 0;
  await page.route(/\?rerun=/, async (route) => {
    if (asked++ > 0) {
      await held.opened;
      return route.continue();
    }
    const html = await (await route.fetch()).text();
    const body = html.replace(' id="rerun"', ' id="rerun" data-running').replace(/(id="rerun-words"[^>]*>)[^<]*/, "$1It runs.");
    await route.fulfill({ contentType: "text/html", body });
  });
  await page.reload();
  const words = page.getByTestId("rerun");
  await expect(words).toHaveText("It runs.");
  const pages = pagesOf(page);
  held.open();
  await expect(words).toContainText("done");
  await expect(page.locator("#rerun")).not.toHaveAttribute("data-running");
  expect(pages()).toBe(0);
});

test("typed text survives a lost connection, and the page works again after it is restored", async ({ page, request, tolerated }) => {
  tolerated.push(/Failed to load resource/);
  await converse(request, 26);
  await page.goto("/admin");
  await page.locator("#q").fill("status:error and more");
  const pages = pagesOf(page);
  const offline = page.locator("#offline");
  await page.route(/after=/, (route) => route.abort());
  await page.getByTestId("next").click();
  await expect(offline).toContainText("The server is unreachable.");
  await page.unroute(/after=/);
  await page.route(/after=/, (route) => route.fulfill({ status: 503 }), { times: 1 });
  await page.getByTestId("next").click();
  await expect(offline).toBeVisible();
  await page.getByTestId("next").click();
  await expect(page.getByTestId("call")).not.toHaveCount(50);
  await expect(offline).toBeHidden();
  await expect(page.locator("#q")).toHaveValue("status:error and more");
  expect(pages()).toBe(0);

  await page.goto(await called(request));
  await page.locator(".history-rerun button").click();
  await expect(page.getByTestId("again").locator("pre").last()).toHaveText("19.75");
  let asked = 0;
  await page.route(/\?rerun=/, async (route) => {
    asked += 1;
    if (asked === 2) return route.abort();
    const html = await (await route.fetch()).text();
    const body = asked > 2 ? html : html.replace(' id="rerun"', ' id="rerun" data-running');
    await route.fulfill({ contentType: "text/html", body });
  });
  await page.reload();
  await page.locator("#input").fill("{\"a\": 1, ");
  await expect(page.locator("#rerun")).not.toHaveAttribute("data-running");
  expect(asked).toBeGreaterThan(2);
  await expect(page.locator("#input")).toHaveValue("{\"a\": 1, ");
});
