// Tests conversations that are pinned or archived, and actions on several conversations at once.

import type { APIRequestContext, Page } from "@playwright/test";
import { ChatPage, alive } from "../kit/chat.ts";
import { gate } from "../kit/model.ts";
import { startServer } from "../kit/server.ts";
import { chooseInMenu, row } from "../kit/sidebar.ts";
import { test as base, expect } from "../kit/test.ts";

/** Each test has its own server, so its lists contain no other conversations. */
const test = base.extend({
  baseURL: async ({ mysqlServer, demoPaceMs, settings }, use) => {
    const server = await startServer({ mysqlServer, demoPaceMs, settings });
    await use(server.url);
    await server.stop();
  },
});

/** Creates conversations with these titles, the last one newest, and opens the page. Returns their ids by title. */
async function openWith(page: Page, request: APIRequestContext, titles: string[]): Promise<Record<string, string>> {
  const made: Record<string, string> = {};
  for (const title of titles) {
    made[title] = (await (await request.post("/api/conversations", { data: { title } })).json()).uuid;
  }
  await page.goto("/");
  await alive(page);
  return made;
}

const lines = (page: Page) => page.locator(".conversations > li");
const links = (page: Page) => page.getByTestId("conversation-link");

test("pinned conversations are first, under their own heading, also in another tab", async ({ page, context, request }) => {
  await openWith(page, request, ["Oaks", "Elms", "Limes"]);
  const other = await context.newPage();
  await other.goto("/");
  await expect(lines(other)).toHaveText(["Today", "Limes", "Elms", "Oaks"]);
  await chooseInMenu(row(page, "Oaks"), "pin");
  for (const tab of [page, other]) await expect(lines(tab)).toHaveText(["Pinned", "Oaks", "Today", "Limes", "Elms"]);
  await page.reload();
  await expect(lines(page)).toHaveText(["Pinned", "Oaks", "Today", "Limes", "Elms"]);

  await links(page).filter({ hasText: "Oaks" }).click();
  await expect(page).toHaveURL(/\/c\//);
  await page.getByTestId("conversation-menu").click();
  await expect(page.getByTestId("menu-pin")).toHaveText("Unpin");
  await page.getByTestId("menu-pin").click();
  for (const tab of [page, other]) await expect(lines(tab)).toHaveText(["Today", "Limes", "Elms", "Oaks"]);
});

test("a pin that the server refuses is reverted, with the reason", async ({ page, request, tolerated }) => {
  tolerated.push(/Failed to load resource/);
  await openWith(page, request, ["Oaks", "Elms"]);
  const held = gate();
  await page.route("**/api/conversations/*", async (route) => {
    if (route.request().method() !== "PATCH") return route.fallback();
    await held.opened;
    const problem = { type: "x/invalid-input", title: "No", status: 422, detail: "100 conversations are pinned.", request_id: "1" };
    return route.fulfill({ status: 422, json: problem });
  });
  await chooseInMenu(row(page, "Oaks"), "pin");
  await expect(lines(page)).toHaveText(["Pinned", "Oaks", "Today", "Elms"]);
  held.open();
  await expect(lines(page)).toHaveText(["Today", "Elms", "Oaks"]);
  await expect(page.getByTestId("list-trouble")).toContainText("100 conversations are pinned.");
});

test("a conversation whose archiving is undone at once stays in the list, with the focus", async ({ page, request }) => {
  await openWith(page, request, ["Oaks", "Elms"]);
  const [archived, restored] = [gate(), gate()];
  await page.route("**/api/conversations/*", async (route) => {
    if (route.request().method() !== "PATCH") return route.fallback();
    await (route.request().postDataJSON().archived ? archived : restored).opened;
    return route.fallback();
  });
  // The list that is loaded after the first change no longer has the conversation. The title shows when it has arrived.
  await page.route(/\/api\/conversations\?/, async (route) => {
    const response = await route.fetch();
    const list = await response.json();
    if (list.items.length === 1) list.items[0].title = "Elms, loaded again";
    return route.fulfill({ response, json: list });
  });
  await chooseInMenu(row(page, "Oaks"), "archive");
  await expect(page.getByTestId("undo")).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(links(page).nth(1)).toBeFocused();
  archived.open();
  await expect(links(page)).toHaveText(["Elms, loaded again", "Oaks"]);
  await expect(links(page).nth(1)).toBeFocused();
  restored.open();
  await expect(links(page)).toHaveText(["Elms", "Oaks"]);
});

test("an archived conversation leaves the list, can be restored, and is marked as archived when open", async ({ page, request }) => {
  const made = await openWith(page, request, ["Oaks", "Elms"]);
  await chooseInMenu(row(page, "Oaks"), "archive");
  await expect(links(page)).toHaveText(["Elms"]);
  await expect(page.getByTestId("undo")).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(links(page)).toHaveText(["Elms", "Oaks"]);
  await expect(links(page).nth(1)).toBeFocused();
  const stored = async () => (await (await request.get(`/api/conversations/${made.Oaks}`)).json()).archived;
  await expect.poll(stored).toBe(false);

  await chooseInMenu(row(page, "Oaks"), "archive");
  await expect.poll(stored).toBe(true);
  await page.getByTestId("open-archive").click();
  await expect(page.getByTestId("leave-archive")).toBeFocused();
  await expect(links(page)).toHaveText(["Oaks"]);
  await links(page).click();
  await expect(page.getByTestId("archived-notice")).toBeVisible();
  await expect(page.getByTestId("conversation-menu")).toHaveText("Oaks");

  await test.step("with its button", async () => {
    await page.getByTestId("unarchive").click();
    await expect(page.getByTestId("archived-notice")).toHaveCount(0);
    await expect(page.getByText("Conversations that you archive appear here.")).toBeVisible();
    await page.getByTestId("leave-archive").click();
    await expect(page.getByTestId("open-archive")).toBeFocused();
    await expect(links(page)).toHaveText(["Elms", "Oaks"]);
  });

  await test.step("with a message", async () => {
    // The page shows its change before the server has it.
    await expect.poll(stored).toBe(false);
    await request.patch(`/api/conversations/${made.Oaks}`, { data: { archived: true } });
    await expect(page.getByTestId("archived-notice")).toBeVisible();
    await page.reload();
    await expect(page.getByTestId("archived-notice")).toBeVisible();
    await alive(page);
    await new ChatPage(page).ask("What is 2 + 3?");
    await expect(page.getByTestId("archived-notice")).toHaveCount(0);
    await expect(links(page)).toHaveText(["Oaks", "Elms"]);
  });
});

test("events about an earlier state do not revert later changes", async ({ page, request }) => {
  const feed = gate();
  const lists = gate();
  let event = "";
  await page.route("**/api/events", async (route) => {
    await feed.opened;
    await route.fulfill({ contentType: "text/event-stream", body: event });
  });
  const made = await openWith(page, request, ["Oaks", "Elms"]);
  await page.route(/\/api\/conversations\?/, async (route) => {
    await lists.opened;
    await route.continue();
  });
  const written = () => page.waitForResponse((response) => response.request().method() === "PATCH");
  const archived = written();
  await chooseInMenu(row(page, "Oaks"), "archive");
  await archived;
  const takenBack = written();
  await page.getByTestId("undo").click();
  await takenBack;
  await expect(links(page).nth(1)).toBeFocused();

  const frame = (kind: string, data: object) => `event: ${kind}\ndata: ${JSON.stringify({ kind, ...data })}\n\n`;
  event = frame("conversation_updated", { conversation_id: made.Oaks, archived: true });
  event += frame("conversation_renamed", { conversation_id: made.Elms, title: "Beeches" });
  feed.open();
  await expect(links(page).first()).toHaveText("Beeches");
  await expect(links(page).nth(1)).toBeFocused();
  lists.open();
  await expect(links(page)).toHaveText(["Elms", "Oaks"]);
  await expect(links(page).nth(1)).toBeFocused();
});

test("several conversations can be selected, also by keyboard, and changed together with one Undo", async ({ page, request }) => {
  const made = await openWith(page, request, ["One", "Two", "Three", "Four", "Five", "Six"]);
  const writing = new Set<string>();
  let most = 0;
  page.on("request", (asked) => {
    if (asked.method() !== "PATCH") return;
    writing.add(asked.url());
    most = Math.max(most, writing.size);
  });
  page.on("requestfinished", (asked) => writing.delete(asked.url()));

  await chooseInMenu(row(page, "Six"), "select");
  const choose = (title: string) => row(page, title).getByTestId("choose");
  await expect(choose("Six")).toBeChecked();
  await expect(choose("Six"), "the keys work").toBeFocused();
  await row(page, "Two").locator(".conversation-title").click({ modifiers: ["Shift"] });
  expect(await page.evaluate(() => String(getSelection())), "no text is selected").toBe("");
  await expect(page.getByTestId("selection")).toContainText("5 selected");
  await choose("Four").press("Space");
  await expect(choose("Four")).not.toBeChecked();
  await expect(page.getByTestId("selection")).toContainText("4 selected");

  await page.getByTestId("archive-chosen").press("Enter");
  await expect(links(page)).toHaveText(["Four", "One"]);
  await expect(page.getByTestId("undo")).toHaveCount(1);
  await expect(page.locator(".undo-note")).toContainText("Archived 4 conversations.");
  await expect(page.getByTestId("undo")).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(links(page)).toHaveText(["Six", "Five", "Four", "Three", "Two", "One"]);
  const archived = async () => (await (await request.get("/api/conversations?archived=true")).json()).items.length;
  await expect.poll(archived).toBe(0);
  expect(most).toBeLessThanOrEqual(3);

  await chooseInMenu(row(page, "One"), "select");
  await choose("Two").click();
  await page.getByTestId("pin-chosen").click();
  await expect(lines(page)).toHaveText(["Pinned", "Two", "One", "Today", "Six", "Five", "Four", "Three"]);

  await chooseInMenu(row(page, "Three"), "select");
  await page.keyboard.press("Escape");
  await expect(page.getByTestId("selection")).toHaveCount(0);
  await expect(links(page).filter({ hasText: "Three" })).toBeFocused();

  await chooseInMenu(row(page, "Three"), "select");
  await choose("Four").click();
  await page.getByTestId("delete-chosen").click();
  await expect(links(page)).toHaveText(["Two", "One", "Six", "Five"]);
  // When the user leaves the page, deletions that can still be undone are carried out.
  await page.goto("about:blank");
  for (const title of ["Three", "Four"]) {
    await expect.poll(async () => (await request.get(`/api/conversations/${made[title]}`)).status()).toBe(404);
  }
});

test("all conversations of the list can be selected, and the label says if there are more", async ({ page, request }) => {
  await openWith(page, request, Array.from({ length: 60 }, (_, number) => `Sum ${number}`));
  await expect(links(page)).toHaveCount(50);
  await chooseInMenu(row(page, "Sum 59"), "select");
  const [all, selection] = [page.getByTestId("select-all"), page.getByTestId("selection")];
  await expect(selection).toContainText("1 selected");
  await expect(all).toHaveText("Select all 50 loaded");
  await all.press("Enter");
  await expect(selection).toContainText("50 selected");
  await expect(all).toHaveText("Select none");
  await expect(all).toBeFocused();
  // At the end of the list, more is loaded without a click.
  await page.getByTestId("show-more").evaluate((button) => button.scrollIntoView());
  await expect(page.getByTestId("choose")).toHaveCount(60);
  await expect(all).toHaveText("Select all");
  await expect(selection, "only what was loaded is selected").toContainText("50 selected");
  await all.press("Enter");
  await expect(selection).toContainText("60 selected");
  await all.press("Enter");
  await expect(selection).toContainText("0 selected");
  await expect(page.getByTestId("delete-chosen")).toBeDisabled();
  await all.press("Enter");
  await page.getByTestId("delete-chosen").click();
  await expect(links(page)).toHaveCount(0);
  await expect(page.locator(".undo-note")).toContainText("Deleted 60 conversations.");
  await page.getByTestId("undo").click();
  await expect(links(page)).toHaveCount(60);
});

test("all conversations are deleted in the settings, after a question that names their number", async ({ page, request }) => {
  const made = await openWith(page, request, ["One", "Two", "Three"]);
  await request.patch(`/api/conversations/${made.One}`, { data: { archived: true } });
  await request.patch(`/api/conversations/${made.Two}`, { data: { pinned: true } });
  await page.goto("/settings");
  await alive(page);
  const [begin, question] = [page.getByTestId("open-delete-conversations"), page.getByTestId("delete-conversations-question")];
  await begin.click();
  await expect(question).toHaveText("Delete all 3 conversations permanently, including pinned and archived ones?");
  await expect(page.locator("#cancel-delete-conversations")).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(question).toHaveCount(0);
  await expect(begin).toBeFocused();
  await expect(links(page)).toHaveText(["Two", "Three"]);

  await request.post("/api/conversations", { data: { title: "Four" } });
  await page.keyboard.press("Enter");
  await expect(question, "the number is current").toContainText("Delete all 4 conversations");
  await page.getByTestId("delete-conversations").click();
  await expect(page.getByText("All conversations are deleted.")).toBeVisible();
  await expect(begin).toBeFocused();
  await expect(links(page)).toHaveCount(0);
  for (const archived of [false, true]) {
    const { items } = await (await request.get(`/api/conversations?archived=${archived}`)).json();
    expect(items).toEqual([]);
  }
  await begin.click();
  await expect(page.getByText("You have no conversations.")).toBeVisible();
  await expect(question).toHaveCount(0);
});

test("New chat and the search stay visible above a long list", async ({ page, request }) => {
  await openWith(page, request, Array.from({ length: 40 }, (_, number) => `Sum ${number}`));
  await page.getByTestId("sidebar").evaluate((element) => element.scrollTo(0, 600));
  await expect(row(page, "Sum 39")).not.toBeInViewport();
  await expect(page.getByTestId("new-chat")).toBeInViewport({ ratio: 1 });
  await expect(page.getByTestId("search")).toBeInViewport({ ratio: 1 });
  await expect(page.getByTestId("open-settings")).toBeInViewport({ ratio: 1 });
});
