// Tests the conversation list: search, rename, delete and undo, and updates from other tabs.

import { ChatPage, alive, holdProgram } from "../kit/chat.ts";
import { gate } from "../kit/model.ts";
import { chooseInMenu } from "../kit/sidebar.ts";
import { expect, test } from "../kit/test.ts";

test("conversations can be found, renamed, deleted and restored", async ({ page, request }) => {
  for (const title of ["Apples", "Pears", "Plums"]) {
    await request.post("/api/conversations", { data: { title } });
  }
  await page.goto("/");
  await expect(page.getByTestId("search")).toBeEnabled();
  const links = page.getByTestId("conversation-link");
  const row = (title: string) => page.locator(".conversation-row", { hasText: title });
  await expect(page.getByTestId("sidebar").getByRole("heading", { name: "Today" })).toBeVisible();

  await test.step("search", async () => {
    await page.getByTestId("search").fill("ear");
    await expect(links).toHaveText(["Pears"]);
    await page.getByTestId("search").fill("cherries");
    await expect(page.getByText("No matching conversations.")).toBeVisible();
    await page.getByTestId("search").fill("");
    await expect(row("Apples")).toBeVisible();
  });

  await test.step("rename with the keyboard, and cancel", async () => {
    await chooseInMenu(row("Pears"), "rename");
    await expect(page.getByTestId("rename-field")).toBeFocused();
    await page.keyboard.type("Not this");
    await page.keyboard.press("Escape");
    await expect(row("Pears")).toBeVisible();

    await chooseInMenu(row("Pears"), "rename");
    await expect(page.getByTestId("rename-field")).toBeFocused();
    await page.keyboard.type("Quinces");
    const renamed = page.waitForResponse((response) => response.request().method() === "PATCH");
    await page.keyboard.press("Enter");
    expect((await renamed).ok()).toBe(true);
    await expect(row("Quinces")).toBeVisible();
  });

  await test.step("a deletion is undone", async () => {
    await chooseInMenu(row("Plums"), "delete");
    await expect(page.getByTestId("undo")).toBeFocused();
    await expect(page.locator(".undo-note"), "it says what").toContainText("Deleted “Plums”.");
    await page.keyboard.press("Enter");
    await expect(row("Plums")).toBeVisible();
  });

  await test.step("a deletion that is not undone closes the open conversation", async () => {
    await row("Apples").getByTestId("conversation-link").click();
    await expect(page).toHaveURL(/\/c\//);
    const path = new URL(page.url()).pathname;
    await chooseInMenu(row("Apples"), "delete");
    await expect(page).toHaveURL("/");
    expect((await request.get(`/api${path.replace("/c/", "/conversations/")}`)).status()).toBe(404);
  });

  await test.step("leaving the page ends the time to undo", async () => {
    await chooseInMenu(row("Plums"), "delete");
    await expect(page.getByTestId("undo")).toBeVisible();
    await page.goto("about:blank");
    const found = async () => (await (await request.get("/api/conversations?q=Plums")).json()).items.length;
    await expect.poll(found).toBe(0);
  });
});

test("the list shows changes from another tab, and loads older pages", async ({ page, context, request }) => {
  for (let number = 1; number <= 60; number++) {
    await request.post("/api/conversations", { data: { title: `Sheet ${number}` } });
  }
  await page.goto("/");
  await expect(page.getByTestId("search")).toBeEnabled();
  const sidebar = page.getByTestId("sidebar");
  await expect(sidebar.getByText("Sheet 60")).toBeVisible();
  await expect(sidebar.getByText("Sheet 1", { exact: true })).toHaveCount(0);
  await sidebar.evaluate((element) => element.scrollTo(0, element.scrollHeight));
  await expect(sidebar.getByText("Sheet 1", { exact: true })).toHaveCount(1);

  const other = await context.newPage();
  await other.goto("/");
  await new ChatPage(other).ask("What is 1009 + 3?");
  await expect(sidebar.getByText("What is 1009 + 3?")).toBeAttached();
  await expect(sidebar.getByText("Sheet 1", { exact: true })).toHaveCount(1);

  await test.step("a conversation that is opened by its address is marked, however old it is", async () => {
    const { items } = await (await request.get("/api/conversations?q=Sheet")).json();
    const oldest = items.find((item: { title: string }) => item.title === "Sheet 1") ?? items.at(-1);
    await page.goto(`/c/${oldest.uuid}`);
    const marked = sidebar.locator("[aria-current=page]");
    await expect(marked).toHaveText(oldest.title);
    await alive(page);
    await expect(marked).toHaveText(oldest.title);
    await page.getByTestId("new-chat").click();
    await expect(marked).toHaveCount(0);
  });
});

test("a new chat that becomes a conversation does not navigate a user who has left it", async ({ page, request }) => {
  const title = "Gone to meanwhile";
  const { uuid } = await (await request.post("/api/conversations", { data: { title } })).json();
  const [created, found] = [gate(), gate()];
  await page.route("**/api/conversations", async (route) => {
    await created.opened;
    await route.continue();
  });
  await page.route(`**/api/conversations/${uuid}?*`, async (route) => {
    await found.opened;
    await route.continue();
  });
  await page.goto("/");
  await alive(page);
  await page.getByTestId("composer").fill("What is 2 + 3?");
  await page.getByTestId("send").click();
  await page.getByTestId("conversation-link").filter({ hasText: title }).click();
  await expect(page).toHaveURL(`/c/${uuid}`);
  const made = page.waitForResponse((response) => response.request().method() === "POST" && response.ok());
  created.open();
  await made;
  found.open();
  await expect(page.getByRole("heading", { level: 1, name: title })).toBeAttached();
  await expect(page).toHaveURL(`/c/${uuid}`);
});

test("conversations are grouped by day in the user's time zone", async ({ page }) => {
  await page.clock.setFixedTime("2026-11-20T12:00:00Z");
  const times = {
    "Just now": "2026-11-20T11:59:00Z",
    "First thing": "2026-11-20T00:00:01Z",
    "Late last night": "2026-11-19T23:59:59Z",
    "Some days ago": "2026-11-15T08:00:00Z",
    "Long ago": "2025-01-31T08:00:00Z",
  };
  const items = Object.entries(times).map(([title, at], number) => {
    const uuid = `00000000-0000-4000-8000-00000000000${number}`;
    return { uuid, title, running: false, created_at: at, updated_at: at };
  });
  await page.route(/\/api\/conversations\?/, (route) => route.fulfill({ json: { items, next_cursor: null } }));
  await page.goto("/");
  const shown = page.locator(".conversations > li");
  const expected = ["Today", "Just now", "First thing", "Yesterday", "Late last night", "Previous 7 days", "Some days ago", "Older", "Long ago"];
  await expect(shown).toHaveText(expected);
});

test("a deletion that is undone and repeated has the full time to undo", async ({ page, request }) => {
  await page.clock.install();
  await request.post("/api/conversations", { data: { title: "Kept after all" } });
  await page.goto("/");
  await expect(page.getByTestId("search")).toBeEnabled();
  const row = page.locator(".conversation-row", { hasText: "Kept after all" }).first();
  const undo = page.getByTestId("undo");
  await chooseInMenu(row, "delete");
  await undo.press("Enter");
  await page.clock.fastForward(4000);
  await chooseInMenu(row, "delete");
  await expect(undo).toBeVisible();
  await page.clock.fastForward(3000);
  await undo.press("Enter");
  await expect(row).toBeVisible();
  await page.clock.fastForward(10_000);
  await page.reload();
  await expect(row).toBeVisible();
});

test("nothing moves when the page becomes interactive", async ({ page, request }) => {
  await request.post("/api/conversations", { data: { title: "Here already" } });
  await page.addInitScript(() => {
    const moved: string[] = [];
    Object.assign(window, { moved });
    const note = (list: PerformanceObserverEntryList) => {
      const shifts = list.getEntries() as (PerformanceEntry & { sources: { node: Node | null }[] })[];
      moved.push(...shifts.flatMap(({ sources }) => sources.map(({ node }) => node?.textContent ?? "")));
    };
    new PerformanceObserver(note).observe({ type: "layout-shift", buffered: true });
  });
  // The server-rendered page can be read before its WASM module is loaded.
  const release = await holdProgram(page);
  await page.goto("/", { waitUntil: "domcontentloaded" });
  /** Returns the texts of the elements that moved since the last call. Waits, because the browser reports a shift a frame later. */
  const moved = () =>
    page.evaluate(async () => {
      for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
      return (window as unknown as { moved: string[] }).moved.splice(0);
    });
  await expect(page.getByTestId("conversation-link").filter({ hasText: "Here already" }).first()).toBeVisible();
  // Ignores earlier shifts: a browser may show the page before it has received all of it.
  await moved();
  release();
  await expect(page.getByTestId("search")).toBeEnabled();
  await expect(page.getByTestId("sidebar").getByRole("heading", { name: "Today" })).toBeVisible();
  expect(await moved()).toEqual([]);
});
