// Tests the line below an answer and its menu: by keyboard, by mouse, and on a phone, where everything is in one line.

import { type Locator, type Page } from "@playwright/test";
import { NOTHING, findings } from "../kit/axe.ts";
import { ChatPage, act, alive, openMenu } from "../kit/chat.ts";
import { gate } from "../kit/model.ts";
import { expectNarrow } from "../kit/narrow.ts";
import { call, conversation, open } from "../kit/seed.ts";
import { expect, test } from "../kit/test.ts";

test.use({ scripted: true, settings: { LLM_TITLES: "false" } });

/** Returns the menu, which all answers share. */
function menuOf(page: Page): Locator {
  return page.getByRole("menu", { name: "More actions" });
}

test("the keyboard opens the menu, moves in it, and closes it", async ({ page, model }) => {
  model.answer([{ tool: "add", input: '{"a":1,"b":2}' }]);
  model.answer(["It is 3."]);
  const chat = new ChatPage(page);
  await page.goto("/");
  const answer = await chat.ask("What is 1 + 2?");
  const more = answer.getByTestId("more");
  const menu = menuOf(page);
  const items = menu.locator("[role^=menuitem]:visible");
  for (const key of ["Enter", "Space"]) {
    await more.press(key);
    await expect(items.first()).toBeFocused();
    await expect(more).toHaveAttribute("aria-expanded", "true");
    await expect(items).toHaveText([
      "Copy a link to this message", "Continue in a new chat", "Explain this answer", "Replay this answer", "Good answer", "Bad answer",
    ]);
    await page.keyboard.press("ArrowDown");
    await expect(items.nth(1)).toBeFocused();
    await page.keyboard.press("End");
    await expect(items.last()).toBeFocused();
    await page.keyboard.press("ArrowDown");
    await expect(items.first(), "after the last item comes the first").toBeFocused();
    await page.keyboard.press("ArrowUp");
    await expect(items.last()).toBeFocused();
    await page.keyboard.press("Home");
    await expect(items.first()).toBeFocused();
    await page.keyboard.press("Escape");
    await expect(menu).toBeHidden();
    await expect(more).toBeFocused();
    await expect(more).toHaveAttribute("aria-expanded", "false");
  }
  await more.press("Enter");
  await expect(items.first()).toBeFocused();
  await page.keyboard.press("Tab");
  await expect(menu).toBeHidden();
  await expect(menu.locator("button"), "a closed menu is empty").toHaveCount(0);
  expect(await page.evaluate(() => document.activeElement?.closest("[role=menu]"))).toBe(null);

  await more.press("Enter");
  await expect(items.first()).toBeFocused();
  for (let step = 0; step < 3; step++) await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect(page.getByTestId("playback")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByTestId("playback")).toHaveCount(0);
  await expect(more, "a closed dialog gives the focus back").toBeFocused();
});

test("a click opens the menu of one answer, then of another, and closes it", async ({ page }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  const first = await chat.ask("What is 1 + 2?");
  const second = await chat.ask("What is 2 + 2?");
  const menu = menuOf(page);
  const [one, two] = [first, second].map((answer) => answer.getByTestId("more"));
  await one!.click();
  await expect(menu).toBeVisible();
  await expect(one!).toHaveAttribute("aria-expanded", "true");
  // The menu may cover the other button.
  await two!.dispatchEvent("click");
  await expect(two!).toHaveAttribute("aria-expanded", "true");
  await expect(one!).toHaveAttribute("aria-expanded", "false");
  await expect(menu).toBeVisible();
  await two!.click();
  await expect(menu).toBeHidden();
  await expect(two!).toBeFocused();
  await act(first, "rate-up");
  await expect(first.getByRole("button", { name: "Good answer" })).toBeVisible();
  await expect(second.getByRole("button", { name: "Good answer" }), "only the answer of the menu is rated").toHaveCount(0);
});

test("while an answer is written, items that need an idle conversation say why they do nothing", async ({ page, model }) => {
  model.answer(["It is 3."]);
  const writing = gate();
  const pieces = async function* () {
    yield "It is ";
    await writing.opened;
    yield "4.";
  };
  const chat = new ChatPage(page);
  await page.goto("/");
  const answer = await chat.ask("What is 1 + 2?");
  model.answer(pieces());
  const other = await chat.send("What is 2 + 2?");
  await expect(other).toContainText("It is");
  const menu = await openMenu(answer);
  const replay = menu.getByTestId("play-again");
  await expect(replay).toHaveAttribute("aria-disabled", "true");
  await expect(replay).toHaveAttribute("title", "Wait until the answer is complete, or stop it.");
  await replay.click({ force: true });
  await expect(menu, "the menu stays open").toBeVisible();
  await page.keyboard.press("Escape");
  await expect(menu).toBeHidden();
  await expect(page.getByTestId("stop"), "Escape did not stop the answer").toBeVisible();
  writing.open();
  await expect(other).toHaveAttribute("data-status", "complete");
});

test("a click before the page is interactive opens the menu once it is", async ({ page, request }) => {
  const { uuid } = await (await request.post("/api/conversations", { data: {} })).json();
  await (await request.post(`/api/conversations/${uuid}/messages`, { data: { content: "What is 1 + 2?" } })).text();
  const held = gate();
  await page.route("**/tallybook_bg.wasm", async (route) => {
    await held.opened;
    await route.continue();
  });
  await page.goto(`/c/${uuid}`, { waitUntil: "commit" });
  const more = page.getByTestId("more");
  await more.click();
  await expect(more).toHaveCSS("cursor", "progress");
  held.open();
  await alive(page);
  await expect(menuOf(page).getByTestId("copy-link")).toBeVisible();
});

for (const [locale, label] of [["en-GB", "More actions"], ["ja-JP", "その他の操作"]] as const) {
  test.describe(locale, () => {
    test.use({ locale, viewport: { width: 360, height: 740 } });
    test("on a phone, the line below an answer is one line, and its menu fits", async ({ page }) => {
      const answer = {
        content: "It is 3.",
        calls: [call("add", { a: 1, b: 2 })],
        usage: { input_tokens: 123_456, output_tokens: 7890, cached_tokens: 0, cost_nanos: 1_230_000_000 },
        version: [2, 3] as [number, number],
        feedback: { rating: "up" as const },
        provider: "anthropic",
        model: "a-model-with-a-very-long-name-2026-11-29",
      };
      await open(page, conversation("Sums", [["What is 1 + 2?", answer]]));
      const shown = page.locator('article[data-role="assistant"]');
      const footer = shown.locator(".message-footer");
      await expect(footer.locator("time")).toBeVisible();
      const parts = footer.locator("> :visible");
      const boxes = await parts.evaluateAll((parts) => parts.map((part) => part.getBoundingClientRect().toJSON()));
      expect(boxes.length).toBeGreaterThan(4);
      const [area] = await footer.evaluateAll(([footer]) => [footer!.getBoundingClientRect().toJSON()]);
      const centers = boxes.map((box) => box.top + box.height / 2);
      expect(Math.max(...centers) - Math.min(...centers), "all parts are in one line").toBeLessThan(2);
      expect(Math.max(...boxes.map((box) => box.right))).toBeLessThanOrEqual(area.right + 1);
      for (const [at, box] of boxes.entries()) if (at > 0) expect(box.left, "no part covers another").toBeGreaterThanOrEqual(boxes[at - 1].right - 1);
      await expectNarrow(page, footer);

      await footer.getByRole("button", { name: label }).click();
      const menu = page.getByRole("menu", { name: label });
      await expect(menu.getByTestId("usage"), "the menu has the usage").toBeVisible();
      await expect(menu).toBeInViewport({ ratio: 1 });
      await expectNarrow(page, menu);
      expect(await findings(page)).toEqual(NOTHING);
    });
  });
}
