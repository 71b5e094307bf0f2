// Tests the search in all conversations, and finding text in one conversation.

import type { APIRequestContext, Page } from "@playwright/test";
import { ChatPage, alive } from "../kit/chat.ts";
import { converse, question } from "../kit/converse.ts";
import { gate } from "../kit/model.ts";
import { call, conversation, open } from "../kit/seed.ts";
import { expect, test } from "../kit/test.ts";

test.use({ demoPaceMs: 0 });

const UUID = "00000000-0000-4000-8000-000000000001";

/** Returns search hits in the API's format. */
function hits(from: number, count: number): object[] {
  return Array.from({ length: count }, (_, at) => ({
    conversation_uuid: UUID,
    title: "Taxes",
    message_id: from + at,
    role: "user",
    shown: true,
    snippet: [{ text: `Number ${from + at}: `, is_match: false }, { text: "tax", is_match: true }],
    created_at: "2026-11-01T12:00:00Z",
  }));
}

async function openSearch(page: Page, words: string): Promise<void> {
  await page.goto("/");
  await alive(page);
  await page.keyboard.press("Control+Shift+F");
  await expect(page.getByTestId("search")).toBeFocused();
  // Inserts the whole text at once, because the page sends a search at each pause between keys.
  await page.keyboard.insertText(words);
}

/** Asks a question in a new conversation, and waits for the answer. Returns the id of the conversation. */
async function say(request: APIRequestContext, title: string, content: string): Promise<string> {
  const { uuid } = await (await request.post("/api/conversations", { data: { title } })).json();
  await (await request.post(`/api/conversations/${uuid}/messages`, { data: { content } })).text();
  return uuid;
}

test("the arrow keys and Enter open a match in a message, where it is marked", async ({ page, request }) => {
  const uuid = await say(request, "Zebra crossing", "What is 77001 + 5?");
  await openSearch(page, "77001");
  const found = page.getByTestId("search-hit");
  // The question, the tool call and the answer contain the number.
  await expect(found.first()).toContainText("Zebra crossing");
  await expect(found.first().locator("mark").first()).toHaveText("77001");
  await expect(page.getByTestId("search-status")).toHaveText(/^\d+ matches$/);
  await expect(page.getByTestId("conversation-link")).toHaveText(["Zebra crossing"]);
  await expect(found.locator(".hit-title"), "the title is shown once, and announced with each match").toHaveText(["Zebra crossing"]);
  for (const hit of await found.all()) await expect(hit).toHaveAccessibleName(/^Zebra crossing/);
  const asked = found.filter({ hasText: "You" });
  await expect(asked).toHaveCount(1);
  const place = await found.evaluateAll((rows) => rows.findIndex((row) => row.textContent.includes("You")));
  // In the list, the conversation comes before the hits.
  for (let down = 0; down <= place + 1; down++) await page.keyboard.press("ArrowDown");
  await expect(asked).toBeFocused();
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(new RegExp(`/c/${uuid}#message-\\d+$`));
  const message = page.locator('[data-role="user"][data-goal]');
  await expect(message).toBeFocused();
  const marked = () => page.evaluate(() => [...(CSS.highlights.get("found") ?? [])].map((range) => String(range)));
  expect(await marked()).toEqual(["77001"]);
});

test("a match in a call opens that call, also in a group", async ({ page, request }) => {
  await say(request, "Calls", "What is (88002 + 7.25) × 4?");
  await openSearch(page, "88002");
  await page.getByTestId("search-hit").filter({ hasText: "add" }).first().click();
  const line = page.getByTestId("tool-call").first();
  await expect(line).toHaveAttribute("aria-expanded", "true");
  await expect(line).toBeFocused();
  await expect(line).toBeInViewport();
});

test("the arrow keys can leave the list upwards, and Esc ends the search", async ({ page, request }) => {
  await say(request, "Yellow titles", "What is 1 + 99003?");
  await openSearch(page, "99003");
  await expect(page.getByTestId("search-hit").first()).toBeVisible();
  await page.keyboard.press("ArrowDown");
  await expect(page.getByTestId("search")).not.toBeFocused();
  await page.keyboard.press("ArrowUp");
  await expect(page.getByTestId("search")).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(page.getByTestId("search-hit")).toHaveCount(0);
  await expect(page.getByTestId("search-status")).toHaveText("");
});

test("an empty result and a failure are announced, with a Retry button", async ({ page, tolerated }) => {
  tolerated.push(/Failed to load resource/);
  await openSearch(page, "qwertzuiop");
  await expect(page.getByTestId("search-status")).toContainText("No matches in messages");
  await page.route("**/api/search?*", (route) => route.abort());
  await page.getByTestId("search").fill("qwert");
  await expect(page.getByTestId("search-status")).toContainText("cannot be reached");
  await page.unroute("**/api/search?*");
  await page.getByTestId("search-on").click();
  await expect(page.getByTestId("search-status")).toContainText("No matches in messages");
});

test("an outdated response is dropped, and pages are joined", async ({ page }) => {
  const held = gate();
  const asked: (string | null)[][] = [];
  await page.route("**/api/search?*", async (route) => {
    const query = new URL(route.request().url()).searchParams;
    asked.push([query.get("query"), query.get("cursor")]);
    if (query.get("query") === "ta") {
      await held.opened;
      // The page may have canceled this request.
      return route.fulfill({ json: { items: hits(900, 1), next_cursor: null, complete: true } }).catch(() => {});
    }
    const more = query.get("cursor") !== null;
    const items = more ? hits(21, 3) : hits(1, 20);
    await route.fulfill({ json: { items, next_cursor: more ? null : "20", complete: true } });
  });
  await openSearch(page, "ta");
  await expect.poll(() => asked).toEqual([["ta", null]]);
  await page.keyboard.type("x");
  const found = page.getByTestId("search-hit");
  await expect(found).toHaveCount(20);
  held.open();
  await expect(page.getByTestId("search-status")).toHaveText("20+ matches");
  await page.getByTestId("search-on").click();
  await expect(found).toHaveCount(23);
  await expect(found.last()).toContainText("Number 23");
  await expect(page.getByTestId("search-status")).toHaveText("23 matches");
  expect(asked).toEqual([["ta", null], ["tax", null], ["tax", "20"]]);
});

test("a slow search continues by itself and says so", async ({ page }) => {
  const held = gate();
  await page.route("**/api/search?*", async (route) => {
    const cursor = new URL(route.request().url()).searchParams.get("cursor");
    if (cursor === null) return route.fulfill({ json: { items: [], next_cursor: "1", complete: false } });
    await held.opened;
    await route.fulfill({ json: { items: hits(1, 2), next_cursor: null, complete: true } });
  });
  await openSearch(page, "tax");
  await expect(page.getByTestId("search-status")).toContainText("Searching older messages");
  held.open();
  await expect(page.getByTestId("search-hit")).toHaveCount(2);
});

test.describe("within a conversation", () => {
  test("a search that is opened before the conversation is loaded appears with it", async ({ page, request }) => {
    const [first, second] = [await converse(request, 1), await converse(request, 1)];
    await page.goto(first);
    await alive(page);
    const held = gate();
    await page.route(`**/api${second.replace("/c/", "/conversations/")}?*`, async (route) => {
      await held.opened;
      await route.continue();
    });
    await page.getByTestId("sidebar").locator(`[href="${second}"]`).click();
    await expect(page).toHaveURL(new RegExp(second));
    await expect(page.getByTestId("composer")).toBeFocused();
    // The page focuses the message field again in the next frame.
    await page.evaluate(() => new Promise(requestAnimationFrame));
    await page.locator("#thread").focus();
    // Unlike shortcuts, letters after the slash belong to the search.
    await page.keyboard.press("/");
    await expect(page.getByTestId("find-early")).toBeFocused();
    await page.keyboard.type("[e");
    held.open();
    const field = page.getByTestId("find-field");
    await expect(field).toBeFocused();
    await expect(field).toHaveValue("[e");
    await expect(page.getByTestId("find-place")).toHaveText("No matches");
    await expect(page.getByTestId("find-early")).toHaveCount(0);
    await page.keyboard.press("Escape");
    await expect(page.locator("#thread"), "the focus returns").toBeFocused();
  });

  test("a search that is closed before its code is loaded does not appear", async ({ page, request }) => {
    const address = await converse(request, 1);
    const held = gate();
    await page.route(/split_messages\.wasm/, async (route) => {
      await held.opened;
      await route.continue();
    });
    await page.goto(address);
    await alive(page);
    const early = page.getByTestId("find-early");
    await page.locator("#thread").focus();
    await page.keyboard.press("/");
    await expect(early).toBeFocused();
    await page.keyboard.press("Escape");
    await expect(early).toHaveCount(0);
    await expect(page.locator("#thread")).toBeFocused();
    const loaded = page.waitForResponse(/split_messages\.wasm/);
    held.open();
    await loaded;
    await page.locator("article").last().hover();
    await expect(page.getByTestId("find")).toHaveCount(0);
    await page.locator("#thread").focus();
    await page.keyboard.press("/");
    await page.keyboard.type("question");
    await expect(page.getByTestId("find-field")).toHaveValue("question");
    await expect(early).toHaveCount(0);
  });

  test("a search that is opened too early does not take the focus from the message field", async ({ page, request }) => {
    const address = await converse(request, 1);
    await page.goto("/");
    await alive(page);
    const held = gate();
    await page.route(`**/api${address.replace("/c/", "/conversations/")}?*`, async (route) => {
      await held.opened;
      await route.continue();
    });
    const composer = page.getByTestId("composer");
    await page.getByTestId("sidebar").locator(`[href="${address}"]`).click();
    await expect(page).toHaveURL(new RegExp(address));
    await expect(composer).toBeFocused();
    await page.evaluate(() => new Promise(requestAnimationFrame));
    await page.locator("#thread").focus();
    await page.keyboard.press("/");
    await composer.click();
    await page.keyboard.type("And th");
    held.open();
    await expect(page.locator("article")).toHaveCount(2);
    await page.keyboard.type("en?");
    await expect(composer).toHaveValue("And then?");
    await expect(page.getByTestId("find")).toHaveCount(0);
  });

  test("matches can be stepped through, also those that are not loaded, and Esc returns the focus", async ({ page, request }) => {
    const address = await converse(request, 30);
    await page.goto(address);
    const chat = new ChatPage(page);
    await alive(page);
    await page.locator("#thread").focus();
    await page.keyboard.press("/");
    const field = page.getByTestId("find-field");
    await expect(field).toBeFocused();
    const place = page.getByTestId("find-place");
    await page.keyboard.type(question(29));
    await expect(place).toHaveText("1 of 1");
    await expect(page.locator("[data-goal]")).toContainText(question(29));
    await field.fill(question(1));
    await expect(place).toHaveText("1 of 1");
    await expect(page.locator("[data-goal]")).toContainText(question(1));
    await expect(page.locator("[data-goal]")).toBeInViewport();
    await expect(field).toBeFocused();
    await expect(chat.messages).not.toHaveCount(50);

    await field.fill("what is (2");
    await expect(place).toHaveText("1 of 11");
    await page.keyboard.press("Enter");
    await expect(place).toHaveText("2 of 11");
    await page.keyboard.press("Shift+Enter");
    await page.keyboard.press("Shift+Enter");
    await expect(place).toHaveText("11 of 11");
    await page.getByTestId("find-next").click();
    await expect(place).toHaveText("1 of 11");
    await field.fill("not there at all");
    await expect(place).toHaveText("No matches");
    await field.press("Escape");
    await expect(page.getByTestId("find")).toHaveCount(0);
    await expect(page.locator("#thread")).toBeFocused();
    await expect(page.locator("[data-goal]")).toHaveCount(0);
  });

  test("every match counts, in texts and in closed calls, regardless of case and width", async ({ page }) => {
    const calls = [call("search", { query: "tax and TAX" }, { offset: 18, output: '{"found":"no tax"}' })];
    const content = "A **ta**x on cats.\n\nAnd: what is tax?";
    await open(page, conversation("Taxes", [["Tax, ＴＡＸ and taxi", { content, calls }], ["What\n  is tax", { content: "No." }]]));
    await page.locator("#thread").focus();
    await page.keyboard.press("/");
    const [field, place] = [page.getByTestId("find-field"), page.getByTestId("find-place")];
    const marked = (name: string) =>
      page.evaluate((name) => [...(CSS.highlights.get(name) ?? [])].map((range) => String(range)), name);
    await field.fill("tax");
    await expect(place).toHaveText("1 of 9");
    expect(await marked("place")).toEqual(["Tax", "ＴＡＸ", "tax", "tax", "tax", "tax"]);
    await expect.poll(() => marked("found")).toEqual(["Tax"]);
    await page.keyboard.press("Enter");
    await expect.poll(() => marked("found")).toEqual(["ＴＡＸ"]);
    for (let step = 0; step < 3; step++) await page.keyboard.press("Enter");
    await expect(place).toHaveText("5 of 9");
    await expect(page.getByTestId("tool-call"), "a call opens for its match").toHaveAttribute("aria-expanded", "true");
    await expect.poll(() => marked("found")).toEqual(["tax"]);
    await page.keyboard.press("Enter");
    await expect.poll(() => marked("found")).toEqual(["TAX"]);
    await page.keyboard.press("Enter");
    await page.keyboard.press("Enter");
    await expect(place).toHaveText("8 of 9");
    await field.fill("what is tax");
    await expect(place, "the text as written").toHaveText("1 of 2");
    await field.fill("is what");
    await expect(place).toHaveText("No matches");
    await expect.poll(() => marked("place")).toEqual([]);
    await field.press("Escape");
    await expect.poll(() => page.evaluate(() => CSS.highlights.size)).toBe(0);
  });

  test("the search bar opens from the menu, and closes with its conversation", async ({ page, request }) => {
    const address = await converse(request, 1);
    await page.goto(address);
    await page.getByTestId("conversation-menu").click();
    await page.getByTestId("menu-find").click();
    await expect(page.getByTestId("find-field")).toBeFocused();
    await page.keyboard.type("7.25");
    await expect(page.getByTestId("find-place")).toHaveText(/^\d+ of \d+$/);
    await page.keyboard.press("Control+Shift+O");
    await expect(page.getByTestId("find")).toHaveCount(0);
    await page.goBack();
    await expect(page.getByTestId("find")).toHaveCount(0);
  });
});
