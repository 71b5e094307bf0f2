// Tests the keyboard shortcuts, and the help dialog that lists them.

import { ChatPage, alive, mounted } from "../kit/chat.ts";
import { scriptTurn, started, withoutFeed } from "../kit/live.ts";
import { call, conversation, open } from "../kit/seed.ts";
import { expect, test } from "../kit/test.ts";

test("the help dialog lists the keys, traps the focus, and returns it", async ({ page }) => {
  await page.goto("/");
  await alive(page);
  const composer = page.getByTestId("composer");
  await composer.fill("half a thought");
  const help = page.getByTestId("help");
  await expect(help).toBeHidden();

  await page.keyboard.press("Control+/");
  await expect(help).toBeVisible();
  const keys = await help.locator(".help-row").allInnerTexts();
  const listed = keys.map((row) => row.replace(/\s+/g, " "));
  for (const key of ["Ctrl K", "Ctrl Shift O", "Ctrl /", "Esc", "/", "[", "]", "E", "Enter", "Shift Enter", "↑"]) {
    expect(listed.some((row) => row.endsWith(` ${key}`)), `${key} in ${listed.join(" | ")}`).toBe(true);
  }
  await expect(help.getByRole("button", { name: "Close" })).toBeFocused();
  for (let press = 0; press < 4; press++) {
    await page.keyboard.press("Tab");
    const outside = await page.evaluate(() => {
      const focused = document.activeElement;
      return focused !== document.body && focused?.closest("dialog") === null;
    });
    expect(outside, "the focus stays in the dialog").toBe(false);
  }
  await page.keyboard.press("Escape");
  await expect(help).toBeHidden();
  await expect(composer).toBeFocused();
  await expect(composer).toHaveValue("half a thought");

  await page.getByTestId("open-help").click();
  await expect(help).toBeVisible();
  await help.getByRole("button", { name: "Close" }).click();
  await expect(help).toBeHidden();
  await expect(page.getByTestId("open-help")).toBeFocused();
});

test("a key opens a new chat, even while typing, and another one the search, except while typing", async ({ page, request }) => {
  const made = await (await request.post("/api/conversations", { data: { title: "Old sums" } })).json();
  await page.goto(`/c/${made.uuid}`);
  await alive(page);
  await expect(page.getByTestId("search")).toBeEnabled();
  const composer = page.getByTestId("composer");
  await composer.fill("[e] is what I write");
  await expect(composer).toHaveValue("[e] is what I write");
  await page.keyboard.press("Control+Shift+O");
  await expect(page).toHaveURL("/");
  await expect(composer).toBeFocused();
  await page.getByTestId("search").focus();
  await page.keyboard.press("Control+Shift+O");
  await expect(composer, "also from another field").toBeFocused();
  await composer.blur();
  await page.keyboard.press("/");
  await expect(page.getByTestId("search")).toBeFocused();

  await page.setViewportSize({ width: 360, height: 640 });
  await expect(page.getByTestId("search")).toBeHidden();
  // A hidden field keeps the focus until the next frame. Until then, the key would be typed into it.
  await expect(page.getByTestId("search")).not.toBeFocused();
  await page.keyboard.press("/");
  await expect(page.getByTestId("search")).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(page.getByTestId("search")).toBeHidden();
});

test("the bracket keys move between calls, and E opens and closes all", async ({ page }) => {
  const content = "First.Then.Last.";
  const calls = [
    call("add", { a: 1 }, { offset: 6 }),
    call("subtract", { a: 2 }, { offset: 6 }),
    call("multiply", { a: 3 }, { offset: 11 }),
  ];
  await open(page, conversation("Keys", [["Go", { content, calls }]]));
  const group = page.getByTestId("tool-group");
  const line = (name: string) => page.getByTestId("tool-call").filter({ hasText: name });
  await page.locator(".messages").click({ position: { x: 1, y: 1 } });

  await page.keyboard.press("[");
  await expect(line("multiply")).toBeFocused();
  await page.keyboard.press("[");
  await expect(group).toBeFocused();
  await page.keyboard.press("[");
  await expect(group, "there is no earlier call").toBeFocused();
  await page.keyboard.press("Enter");
  await page.keyboard.press("]");
  await expect(line("add")).toBeFocused();
  await page.keyboard.press("]");
  await page.keyboard.press("]");
  await expect(line("multiply")).toBeFocused();

  const details = page.getByTestId("tool-call-details");
  await page.keyboard.press("e");
  await expect(details).toHaveCount(3);
  await page.keyboard.press("e");
  await expect(details).toHaveCount(0);
  await expect(group).toHaveAttribute("aria-expanded", "false");

  await page.getByTestId("composer").fill("");
  await page.getByTestId("composer").pressSequentially("e[");
  await expect(page.getByTestId("composer")).toHaveValue("e[");
  await expect(details).toHaveCount(0);
});

test("Esc stops the answer, even while typing, but closes the help first", async ({ page }) => {
  await withoutFeed(page);
  const turn = await scriptTurn(page);
  const stops: string[] = [];
  await page.route("**/stop", (route) => {
    stops.push(route.request().url());
    return route.fulfill({ json: {} });
  });
  await page.goto("/");
  await page.getByTestId("composer").fill(started.content);
  await page.keyboard.press("Enter");
  await turn.say("message_start", started);
  await expect(page.getByTestId("stop")).toBeVisible();
  await page.getByTestId("composer").fill("the next thing");
  await page.keyboard.press("Control+/");
  await expect(page.getByTestId("help")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByTestId("help")).toBeHidden();
  await expect(page.getByTestId("stop")).toBeEnabled();
  for (const composing of [{ isComposing: true }, { keyCode: 229 }]) {
    await page.getByTestId("composer").dispatchEvent("keydown", { key: "Escape", bubbles: true, cancelable: true, ...composing });
  }
  await expect(page.getByTestId("stop"), "this Esc ended an IME composition").toBeEnabled();
  await page.keyboard.press("Escape");
  await expect(page.getByTestId("stop")).toBeDisabled();
  await expect.poll(() => stops).toHaveLength(1);
  const end = { assistant_message_id: 2, content: "So far", tool_calls: [], status: "stopped", stop_reason: null };
  await turn.say("message_end", { ...end, usage: { input_tokens: 0, output_tokens: 0, cached_tokens: 0 } });
  await expect(new ChatPage(page).answers).toContainText("Stopped. Everything so far is saved.");
});

test("Esc that ends an IME composition has no other effect", async ({ page, request }) => {
  const made = await (await request.post("/api/conversations", { data: { title: "Old sums" } })).json();
  const asked = await request.post(`/api/conversations/${made.uuid}/messages`, { data: { content: "What is 1 + 1?" } });
  expect(await asked.text()).toContain("event: message_end");
  await page.goto(`/c/${made.uuid}`);
  await mounted(page);
  const esc = async (field: string) => {
    for (const composing of [{ isComposing: true }, { keyCode: 229 }]) {
      await page.getByTestId(field).dispatchEvent("keydown", { key: "Escape", bubbles: true, cancelable: true, ...composing });
    }
  };
  await page.getByTestId("edit").click();
  await page.getByTestId("edit-field").fill("2 + 2");
  await esc("edit-field");
  await expect(page.getByTestId("edit-field")).toHaveValue("2 + 2");
  await page.getByTestId("edit-field").press("Escape");
  await expect(page.getByTestId("edit-field")).toHaveCount(0);

  await page.getByTestId("search").fill("sums");
  await esc("search");
  await expect(page.getByTestId("search")).toHaveValue("sums");
  await page.getByTestId("search").press("Escape");
  await expect(page.getByTestId("search")).toHaveValue("");

  await page.getByTestId("conversation-menu").click();
  await page.getByTestId("menu-rename").click();
  await page.getByTestId("rename-field").fill("New sums");
  await esc("rename-field");
  await expect(page.getByTestId("rename-field")).toHaveValue("New sums");
  await page.getByTestId("rename-field").press("Escape");
  await expect(page.getByTestId("rename-field")).toHaveCount(0);

  await page.locator("#thread").focus();
  await page.keyboard.press("/");
  await page.getByTestId("find-field").fill("1");
  await esc("find-field");
  await expect(page.getByTestId("find-field")).toHaveValue("1");
});

test("shortcuts work on every keyboard layout", async ({ page }) => {
  await page.goto("/");
  await alive(page);
  for (const [key, code] of [["л", "KeyK"], ["Κ", "KeyK"], ["ל", "KeyK"], ["ن", "KeyK"]] as const) {
    await page.getByTestId("composer").dispatchEvent("keydown", { key, code, ctrlKey: true, bubbles: true, cancelable: true });
    await expect(page.getByTestId("palette"), key).toBeVisible();
    await page.getByTestId("palette-field").dispatchEvent("keydown", { key, code, ctrlKey: true, bubbles: true, cancelable: true });
    await expect(page.getByTestId("palette")).toBeHidden();
  }
});
