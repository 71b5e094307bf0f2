// Tests attaching the page to the server-rendered one: what the user reads and writes in stays in its place, and nothing that the user
// does meanwhile is lost.

import type { Page } from "@playwright/test";
import { ChatPage, alive, boxOf, holdProgram, mounted } from "../kit/chat.ts";
import { converse } from "../kit/converse.ts";
import { textFile } from "../kit/files.ts";
import { expect, test } from "../kit/test.ts";

test.use({ demoPaceMs: 0 });

declare global {
  interface Window {
    /** Runs the callbacks that were held, and holds no more. */
    release(): void;
  }
}

/**
 * Holds the callbacks of animation frames, or of timers without a delay, once an element matches `sign`. By default, that is when
 * the page is interactive, so that everything that the page builds afterwards waits.
 */
async function hold(page: Page, what: "requestAnimationFrame" | "setTimeout", sign = "body[data-alive]"): Promise<void> {
  await page.addInitScript(({ what, sign }) => {
    const ask = window[what].bind(window) as (act: () => void, ...rest: unknown[]) => number;
    let held: (() => void)[] | undefined = [];
    // The page does not use timers with a delay for building, so they are not held.
    const holding = (act: () => void, ...rest: unknown[]) =>
      held && !rest[0] && document.querySelector(sign) ? held.push(() => ask(act, ...rest)) : ask(act, ...rest);
    Object.assign(window, { [what]: holding });
    window.release = () => {
      const acts = held ?? [];
      held = undefined;
      for (const act of acts) act();
    };
  }, { what, sign });
}

test("clicks in a message that is not interactive yet take effect when it is", async ({ page, request }) => {
  const turns = 10;
  const address = await converse(request, turns);
  await hold(page, "requestAnimationFrame");
  await page.goto(address);
  await alive(page);
  const messages = page.locator("article");
  const calls = messages.nth(1).getByTestId("tool-group");
  await calls.click();
  await expect(calls, "the click has no effect yet").toHaveAttribute("aria-expanded", "false");
  await page.evaluate(() => window.release());
  await expect(calls).toHaveAttribute("aria-expanded", "true");
  await expect(calls, "the focus has not moved").toBeFocused();
  await mounted(page);
  await expect(messages).toHaveCount(2 * turns);
});

test("nothing moves while messages become interactive, so a slow press has its effect", async ({ page, request }) => {
  const address = await converse(request, 10);
  await hold(page, "requestAnimationFrame");
  await page.goto(address);
  await alive(page);
  const calls = page.locator("article").nth(1).getByTestId("tool-group");
  await calls.hover();
  const before = await boxOf(calls);
  await page.mouse.down();
  // The press loads the code of the messages, and the newest ones become interactive first.
  await expect(page.locator("article").last()).not.toHaveAttribute("data-drawn");
  expect(await boxOf(calls)).toEqual(before);
  await page.mouse.up();
  await page.evaluate(() => window.release());
  await expect(calls).toHaveAttribute("aria-expanded", "true");
  await mounted(page);
  await expect(page.getByTestId("show-earlier")).toHaveCount(0);
});

test("a press at the moment a message becomes interactive has its effect", async ({ page, request }) => {
  const address = await converse(request, 1);
  await page.addInitScript(() => {
    const listen = EventTarget.prototype.addEventListener;
    EventTarget.prototype.addEventListener = function (...given: Parameters<typeof listen>) {
      listen.apply(this, given);
      if (given[0] !== "click" || !(this instanceof HTMLElement) || !this.matches("article")) return;
      this.querySelector<HTMLElement>("[data-testid=tool-group]")?.click();
    };
  });
  await page.goto(address);
  await mounted(page);
  const calls = page.getByTestId("tool-group");
  await expect(calls).toHaveAttribute("aria-expanded", "true");
  await expect(page.getByTestId("tool-call").first()).toBeVisible();
});

test("the messages and the message field that the server rendered never leave the document", async ({ page, request }) => {
  const address = await converse(request, 3);
  const release = await holdProgram(page);
  await page.goto(address, { waitUntil: "commit" });
  const answer = page.locator(`article[data-role="assistant"]`).last().locator(".prose").last();
  await answer.waitFor();
  // Nodes that are moved are removed and inserted again. A screen reader would lose its place in them.
  const removed = await page.evaluateHandle(() => {
    const kept = [...document.querySelectorAll("#page, main, .thread, .messages, article, article .prose, .dock, .composer, #composer")];
    const removed: string[] = [];
    new MutationObserver((changes) => {
      const nodes = changes.flatMap(({ removedNodes }) => [...removedNodes]);
      removed.push(...kept.filter((element) => nodes.some((node) => node.contains(element))).map((element) => element.outerHTML));
    }).observe(document.body, { subtree: true, childList: true });
    return removed;
  });
  const selected = await answer.evaluate((prose) => {
    getSelection()!.selectAllChildren(prose);
    return getSelection()!.toString();
  });
  expect(selected.trim()).not.toBe("");
  release();
  await mounted(page);
  await expect(page.locator("article time").last(), "the last message is up to date").toBeAttached();
  expect(await removed.jsonValue()).toEqual([]);
  expect(await page.evaluate(() => getSelection()!.toString())).toBe(selected);
  await expect(page.locator("#page, main, .thread, .messages, .dock, .composer, #composer"), "there is one of each").toHaveCount(7);
});

test("a translation of the messages survives that they become interactive", async ({ page, request }) => {
  const address = await converse(request, 1);
  const release = await holdProgram(page);
  await page.goto(address, { waitUntil: "commit" });
  const answer = page.locator("article").last();
  await answer.locator(".prose").last().waitFor();
  // As Chrome does: an element takes the place of each text.
  await page.locator("article").evaluateAll((articles) => {
    const texts: Text[] = [];
    for (const article of articles) {
      const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) texts.push(walker.currentNode as Text);
    }
    // The page writes times itself, and again when they change.
    for (const text of texts.filter(({ data, parentElement }) => data.trim() && !parentElement!.closest("time"))) {
      const font = document.createElement("font");
      font.append(`«${text.data}»`);
      text.replaceWith(font);
    }
    getSelection()!.selectAllChildren(articles[0]!);
  });
  const translated = await page.locator(".bubble-text, .prose, .tool-group .tool-name").allTextContents();
  expect(translated.length).toBeGreaterThan(2);
  const selected = await page.evaluate(() => getSelection()!.toString());
  expect(selected).toContain("«");
  release();
  await mounted(page);
  await answer.getByTestId("tool-group").press("Enter");
  await expect(answer.getByTestId("tool-call").first()).toBeVisible();
  for (const text of translated) expect(text).toMatch(/^\s*«.*»\s*$/s);
  expect(await page.locator(".bubble-text, .prose, .tool-group .tool-name").allTextContents()).toEqual(translated);
  expect(await page.evaluate(() => getSelection()!.toString())).toBe(selected);
});

test("a page becomes interactive while the user selects text with the mouse", async ({ page, request }) => {
  const address = await converse(request, 2);
  const release = await holdProgram(page);
  await page.goto(address, { waitUntil: "commit" });
  const answer = page.locator(`article[data-role="assistant"]`).last().locator(".prose").last();
  await expect(page.getByTestId("composer"), "the document's script has run").toBeFocused();
  const box = await boxOf(answer);
  await page.mouse.move(box.x + 1, box.y + 5);
  await page.mouse.down();
  await page.mouse.move(box.x + 20, box.y + 5);
  release();
  await alive(page);
  await page.mouse.move(box.x + box.width - 1, box.y + box.height - 5);
  await page.mouse.up();
  expect((await page.evaluate(() => getSelection()!.toString())).trim()).toBe((await answer.innerText()).trim());
});

test("the user can type and navigate before the list and the header are interactive", async ({ page, request }) => {
  const address = await converse(request, 1);
  await hold(page, "setTimeout");
  await page.goto("/");
  await alive(page);
  const sidebar = page.getByTestId("sidebar");
  await expect(sidebar).toHaveAttribute("data-drawn", "");
  const chat = new ChatPage(page);
  await expect(await chat.send("What is 2 + 3?")).toBeVisible();
  await sidebar.locator(`[href="${address}"]`).click();
  await expect(page).toHaveURL(address);
  await expect(chat.answers).toHaveCount(1);
  await sidebar.getByTestId("new-chat").focus();
  await page.evaluate(() => window.release());
  await expect(page.locator("[data-drawn]")).toHaveCount(0);
  await expect(sidebar.getByTestId("new-chat"), "the focus has not moved").toBeFocused();
  await expect(sidebar.locator("[aria-current]")).toHaveAttribute("href", address);
});

test("a search that begins before the list is interactive continues in its field", async ({ page, request }) => {
  await request.post("/api/conversations", { data: { title: "Boats to Oslo" } });
  await request.post("/api/conversations", { data: { title: "Trains" } });
  await hold(page, "setTimeout");
  await page.goto("/");
  await alive(page);
  const sidebar = page.getByTestId("sidebar");
  await sidebar.getByTestId("search").click();
  await page.keyboard.type("boats");
  await expect(sidebar).toHaveAttribute("data-drawn", "");
  await page.evaluate(() => window.release());
  await expect(page.locator("[data-drawn]")).toHaveCount(0);
  await expect(sidebar.getByTestId("search")).toBeFocused();
  await page.keyboard.type(" to");
  await expect(sidebar.getByTestId("search")).toHaveValue("boats to");
  await expect(sidebar.getByTestId("conversation-link")).toHaveText(["Boats to Oslo"]);
});

for (const [where, button, seen] of [
  ["in a message", "edit", "edit-field"],
  ["in the header", "conversation-menu", "menu-find"],
] as const) {
  test(`clicks ${where} before the WASM module is loaded take effect when it is`, async ({ page, request }) => {
    const address = await converse(request, 1);
    const release = await holdProgram(page);
    await page.goto(address, { waitUntil: "commit" });
    await page.getByTestId(button).first().click();
    await expect(page.getByTestId(button).first(), "the click was noticed").toHaveCSS("cursor", "progress");
    release();
    await mounted(page);
    await expect(page.getByTestId(seen)).toBeVisible();
    await expect(page.getByTestId(seen)).toBeEnabled();
    await expect(page.locator("[data-pressed]")).toHaveCount(0);
  });
}

test("an example question that is clicked before the WASM module is loaded is sent once", async ({ page }) => {
  const release = await holdProgram(page);
  await page.goto("/", { waitUntil: "commit" });
  const example = page.getByTestId("example").nth(1);
  const question = (await example.locator(".example-text").textContent())!;
  await example.click();
  await example.click();
  await expect(example, "the click was noticed").toHaveCSS("cursor", "progress");
  release();
  const chat = new ChatPage(page);
  await expect(chat.answers).toHaveAttribute("data-status", "complete");
  await expect(chat.messages).toHaveCount(2);
  await expect(chat.messages.first()).toContainText(question);
});

test("several clicks before the WASM module is loaded take effect in their order", async ({ page, request }) => {
  await converse(request, 1);
  const address = await converse(request, 2);
  const release = await holdProgram(page);
  await page.goto("/", { waitUntil: "commit" });
  const sidebar = page.getByTestId("sidebar");
  const row = sidebar.locator("li", { has: page.locator(`[href="${address}"]`) });
  await sidebar.getByTestId("search").fill("Lon");
  await row.hover();
  await row.getByTestId("row-menu").click();
  await expect(page.locator("#row-menu"), "its content is not known yet").toBeHidden();
  await page.getByTestId("fold-sidebar").click();
  await page.getByTestId("open-tools").click();
  await expect(page.locator("[data-pressed]")).toHaveCount(3);
  release();
  await alive(page);
  await expect(page.locator("[data-drawn]")).toHaveCount(0);
  await expect(page.getByTestId("tools-panel")).toBeVisible();
  await expect(page.getByTestId("tool-row").first()).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByTestId("fold-sidebar")).toHaveAttribute("aria-expanded", "false");
  await page.getByTestId("fold-sidebar").click();
  await expect(sidebar.getByTestId("search")).toHaveValue("Lon");
  await expect(page.locator("[data-pressed]")).toHaveCount(0);
});

test("the menu of a row that is clicked before the WASM module is loaded opens for that row", async ({ page, request }) => {
  const address = await converse(request, 1);
  await converse(request, 1);
  const release = await holdProgram(page);
  await page.goto("/", { waitUntil: "commit" });
  const row = page.getByTestId("sidebar").locator("li", { has: page.locator(`[href="${address}"]`) });
  await row.hover();
  await row.getByTestId("row-menu").click();
  release();
  await alive(page);
  await page.locator("#row-menu").getByTestId("rename").click();
  await expect(page.getByTestId("rename-field")).toBeFocused();
  await expect(page.locator(`[href="${address}"]`), "the field is in the place of that row, although both have one title").toHaveCount(0);
});

for (const when of ["before", "after"]) {
  test(`files can be attached ${when} the page becomes interactive, with a button that was clicked earlier`, async ({ page }) => {
    const release = await holdProgram(page);
    await page.goto("/", { waitUntil: "commit" });
    const chosen = page.waitForEvent("filechooser");
    await page.getByTestId("attach").click();
    const chooser = await chosen;
    if (when === "after") {
      release();
      await alive(page);
    }
    await chooser.setFiles(textFile("note.txt", "2 + 3"));
    release();
    await expect(page.locator('[data-testid="attachment"][data-state="ready"]')).toContainText("note.txt");
  });
}

test("a button that is held down while the page is mounted works when it is released", async ({ page, request }) => {
  const address = await converse(request, 1);
  const release = await holdProgram(page);
  await page.goto(address, { waitUntil: "commit" });
  await page.getByTestId("conversation-menu").hover();
  await page.mouse.down();
  release();
  // Without the held button, the page would be interactive after so many frames. No assertion depends on this wait.
  await page.evaluate(async () => {
    for (let frame = 0; frame < 120; frame++) await new Promise((done) => requestAnimationFrame(done));
  });
  await page.mouse.up();
  await alive(page);
  await expect(page.locator("#header[data-drawn]")).toHaveCount(0);
  await expect(page.getByTestId("menu-find")).toBeVisible();
});

test("a menu that was closed again before the WASM module is loaded stays closed", async ({ page, request }) => {
  const address = await converse(request, 1);
  const release = await holdProgram(page);
  await page.goto(address, { waitUntil: "commit" });
  await page.getByTestId("conversation-menu").click();
  const menu = page.locator("#conversation-menu");
  await expect(menu).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(menu).toBeHidden();
  release();
  await mounted(page);
  await expect(menu).toBeHidden();
});

test("the user can type before the page is interactive", async ({ page }) => {
  const release = await holdProgram(page);
  await page.goto("/", { waitUntil: "commit" });
  const composer = page.getByTestId("composer");
  await expect(composer).toBeFocused();
  await expect(page.getByTestId("send")).toBeDisabled();
  await page.keyboard.type("Tell me:");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("What is 2 + 3?");
  await expect(page.getByTestId("send")).toBeEnabled();

  await page.reload({ waitUntil: "commit" });
  await expect(composer, "nothing is lost after a reload").toHaveValue("Tell me:\nWhat is 2 + 3?");
  await expect(composer).toBeFocused();
  for (let times = 0; times < 2; times++) await page.keyboard.press("ArrowLeft");
  release();
  await alive(page);
  await expect(composer).toBeFocused();
  await page.keyboard.type("1");
  await expect(composer, "the caret has not moved").toHaveValue("Tell me:\nWhat is 2 + 13?");
  await page.keyboard.press("Enter");
  await expect(new ChatPage(page).answers.last()).toContainText("15");
});

for (const way of ["the key", "the button"]) {
  test(`a message that is sent by ${way} before the page is interactive is sent when it is`, async ({ page, request }) => {
    const address = await converse(request, 1);
    const release = await holdProgram(page);
    await page.goto(address, { waitUntil: "commit" });
    const composer = page.getByTestId("composer");
    await composer.fill("What is 2 + 3?");
    await (way === "the key" ? composer.press("Enter") : page.getByTestId("send").click());
    await page.keyboard.type("!");
    await expect(composer, "a sent message cannot be edited").toHaveValue("What is 2 + 3?");
    await expect(composer, "it is on its way").toHaveCSS("cursor", "progress");
    release();
    const chat = new ChatPage(page);
    await expect(chat.answers).toHaveCount(2);
    await expect(chat.answers.last()).toContainText("5");
    await expect(composer).toHaveValue("");
    await page.reload();
    await alive(page);
    await expect(composer, "and the draft is deleted").toHaveValue("");
  });
}

test("navigating while the page is mounted works, and a sent message stays with its conversation", async ({ page, request }) => {
  const [one, other] = [await converse(request, 1), await converse(request, 2)];
  await hold(page, "setTimeout", "body > [data-attached]");
  await page.goto(one);
  await expect(page.locator("body > [data-attached]")).toHaveCount(1);
  const composer = page.getByTestId("composer");
  await composer.fill("What is 2 + 3?");
  await composer.press("Enter");
  await page.getByTestId("sidebar").locator(`[href="${other}"]`).click();
  await expect(page).toHaveURL(other);
  await page.evaluate(() => window.release());
  await alive(page);
  const chat = new ChatPage(page);
  await expect(chat.answers).toHaveCount(2);
  await expect(page.locator("[data-drawn]")).toHaveCount(0);
  await expect(composer).toHaveValue("");
  await expect(chat.messages).toHaveCount(4);
  await page.getByTestId("sidebar").locator(`[href="${one}"]`).click();
  await expect(chat.messages, "nothing was sent").toHaveCount(2);
  await expect(composer).toHaveValue("What is 2 + 3?");
});

test("a page becomes interactive during an IME composition without ending it", async ({ page }) => {
  const release = await holdProgram(page);
  await page.goto("/", { waitUntil: "commit" });
  const composer = page.getByTestId("composer");
  await expect(composer).toBeFocused();
  const keys = await page.context().newCDPSession(page);
  await composer.evaluate((field) => {
    for (const name of ["compositionstart", "compositionend"]) {
      field.addEventListener(name, () => (field.dataset.heard = `${field.dataset.heard ?? ""} ${name}`));
    }
  });
  await keys.send("Input.imeSetComposition", { text: "かけざ", selectionStart: 3, selectionEnd: 3 });
  release();
  await alive(page);
  await keys.send("Input.imeSetComposition", { text: "かけざん", selectionStart: 4, selectionEnd: 4 });
  await expect(composer).toHaveValue("かけざん");
  await expect(composer, "it is one composition").toHaveAttribute("data-heard", " compositionstart");
  await keys.send("Input.insertText", { text: "掛け算" });
  await expect(composer).toHaveValue("掛け算");
  await expect(page.getByTestId("send")).toBeEnabled();
});
