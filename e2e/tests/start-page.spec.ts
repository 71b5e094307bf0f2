// Tests the start page, the header, the folded sidebar, recovery actions after a failure, and the positions of elements.

import type { Page } from "@playwright/test";
import { ChatPage, alive, boxOf } from "../kit/chat.ts";
import { call, conversation, open } from "../kit/seed.ts";
import { expect, test } from "../kit/test.ts";

const top = (page: Page, place: string) => boxOf(page.locator(place).first());

test("the start page shows the available tools with their descriptions", async ({ page, request }) => {
  const { items: tools }: { items: { name: string; description: string }[] } = await (
    await request.get("/api/tools")
  ).json();
  await page.goto("/");
  await alive(page);
  // A tool such as `convert_units` is called “Convert units” here.
  const titles = tools.map(({ name }) => `${name[0]!.toUpperCase()}${name.slice(1).replaceAll("_", " ")}`);
  await expect(page.getByTestId("tool-chip")).toHaveText(titles);
  const about = page.locator(".tool-about:popover-open");
  await page.getByTestId("tool-chip").first().click();
  expect(tools[0]!.description).toContain((await about.textContent())!);
  const [chip, popover] = [await boxOf(page.getByTestId("tool-chip").first()), await boxOf(about)];
  expect(Math.abs(popover.y - (chip.y + chip.height)), "next to its name").toBeLessThan(12);
  await page.keyboard.press("Escape");
  await expect(about).toHaveCount(0);
  for (const tool of await page.locator(".example-tool").allTextContents()) {
    for (const title of tool.split(", ")) expect(titles).toContain(title);
  }
});

test("a new chat in a small window starts at its top, without a jump button", async ({ page }) => {
  await page.setViewportSize({ width: 360, height: 420 });
  await page.goto("/");
  await alive(page);
  const thread = page.locator("#thread");
  expect(await thread.evaluate((area) => area.scrollHeight > area.clientHeight), "the page does not fit the window").toBe(true);
  await expect(page.getByTestId("jump")).toHaveCount(0);
  expect(await thread.evaluate((area) => area.scrollTop)).toBe(0);
  await thread.evaluate((area) => area.scrollTo(0, 60));
  await page.getByTestId("composer").fill("What is 1 + 1?");
  await expect(page.getByTestId("jump")).toHaveCount(0);
  await page.getByTestId("composer").press("Enter");
  await expect(page.locator('article[data-role="assistant"]')).toHaveAttribute("data-status", "complete");
});

test("a single model is named, without a menu", async ({ page }) => {
  await page.goto("/");
  await alive(page);
  const model = page.locator(".header").getByTestId("model");
  await expect(model).toHaveText("Model:demo");
  await expect(model).toHaveAttribute("title", "demo, by demo · native tools");
  expect(await model.evaluate((element) => [element.tagName, element.querySelectorAll("button, select, a, [tabindex]").length])).toEqual(["P", 0]);
  await expect(page.getByRole("combobox", { name: "Model" })).toHaveCount(0);
  await expect(page.getByTestId("send")).toBeVisible();
  await expect(page.getByTestId("plan-first"), "the demo model makes no plans").toHaveCount(0);
});

test("the header names the conversation, and can rename, export and delete it", async ({ page }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  await expect(page.getByTestId("conversation-menu"), "there is no conversation yet").toHaveCount(0);
  await chat.ask("What is 2 + 3?");
  const menu = page.getByTestId("conversation-menu");
  await expect(menu).toHaveText("What is 2 + 3?");
  await menu.click();
  await expect(page.getByTestId("markdown")).toBeVisible();
  const [button, list] = [await boxOf(menu), await top(page, "#conversation-menu")];
  expect(Math.abs(list.y - (button.y + button.height)), "it opens below its button").toBeLessThan(12);
  await page.getByTestId("menu-rename").click();
  await expect(page.getByTestId("markdown")).toBeHidden();
  const field = page.locator(".header").getByTestId("rename-field");
  await expect(field).toBeFocused();
  await page.keyboard.type("A sum");
  await page.keyboard.press("Escape");
  await expect(menu).toHaveText("What is 2 + 3?");
  await menu.click();
  await page.getByTestId("menu-rename").click();
  await expect(field).toBeFocused();
  await page.keyboard.type("A sum");
  await page.keyboard.press("Enter");
  await expect(menu).toHaveText("A sum");
  await expect(page.getByTestId("conversation-link").first()).toHaveText("A sum");
  await page.reload();
  await expect(menu).toHaveText("A sum");

  await alive(page);
  await menu.click();
  const saved = page.waitForEvent("download");
  await page.getByTestId("markdown").click();
  expect((await saved).suggestedFilename()).toMatch(/\.md$/);
  await expect(page.getByTestId("markdown"), "the menu closes").toBeHidden();
  await menu.click();
  await page.getByTestId("menu-delete").click();
  await page.getByTestId("undo").click();
  await expect(page.getByTestId("conversation-link").first()).toHaveText("A sum");
});

test("the list can be hidden on a wide screen, stays hidden, and is shown for a search", async ({ page }) => {
  await page.setViewportSize({ width: 1200, height: 700 });
  await page.goto("/");
  await alive(page);
  const fold = page.getByTestId("fold-sidebar");
  await expect(fold).toHaveAttribute("aria-expanded", "true");
  await fold.click();
  await expect(page.getByTestId("sidebar")).toBeHidden();
  await expect(fold).toHaveAttribute("aria-expanded", "false");
  const again = await page.reload();
  expect(await again!.text(), "the server renders the state, so nothing moves").toContain('data-sidebar="folded"');
  await expect(page.getByTestId("sidebar")).toBeHidden();
  await alive(page);
  await expect(page.getByTestId("search")).toBeEnabled();
  await page.getByTestId("composer").blur();
  await page.keyboard.press("/");
  await expect(page.getByTestId("search")).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(page.getByTestId("sidebar")).toBeHidden();
  await fold.click();
  await expect(page.getByTestId("sidebar")).toBeVisible();
});

test("an answer is closer to its question than to the next one", async ({ page }) => {
  await open(page, conversation("Near", [["One", { content: "First." }], ["Two", { content: "Second." }]]));
  await expect(page.locator("article")).toHaveCount(4);
  const [question, answer, next] = [
    await top(page, '[data-role="user"] .bubble'),
    await top(page, '[data-role="assistant"] .prose'),
    await boxOf(page.locator('[data-role="user"] .bubble').last()),
  ];
  const [before, after] = [answer.y - question.y - question.height, next.y - answer.y - answer.height];
  expect(before).toBeLessThan(after / 2);
});

test("the message field does not move when costs appear", async ({ page }) => {
  const usage = { input_tokens: 10, output_tokens: 5, cached_tokens: 0 };
  const place = async (turns: number) => {
    await page.unrouteAll();
    await open(page, conversation("Costs", Array.from({ length: turns }, () => ["One", { content: "Yes.", usage }])));
    await expect(page.getByTestId("usage")).toHaveCount(turns);
    return (await top(page, ".composer")).y;
  };
  const before = await place(1);
  await expect(page.getByTestId("usage-in-all")).toHaveCount(0);
  const after = await place(2);
  await expect(page.getByTestId("usage-in-all")).toBeInViewport({ ratio: 1 });
  expect(after).toBe(before);
});

test("a failure offers one recovery action with a matching label", async ({ page }) => {
  const failed = { content: "", status: "failed", error: "The provider refused the key.", error_code: "model_auth" };
  await open(page, conversation("Failed", [["One", failed]]));
  const answer = page.locator('article[data-role="assistant"]');
  await expect(answer.getByTestId("retry")).toHaveText("Try again");
  await expect(answer.getByTestId("continue")).toHaveCount(0);
  await expect(answer.getByTestId("regenerate")).toHaveCount(0);
});

test("a failed answer without a completed step is regenerated as a new version", async ({ page, tolerated }) => {
  tolerated.push(/Failed to load resource/);
  const stopped = { content: "So far", status: "stopped" };
  await open(page, conversation("Stopped", [["One", stopped]]));
  const answer = page.locator('article[data-role="assistant"]');
  await expect(answer.getByTestId("continue"), "there is no completed step to resume from").toHaveCount(0);
  const asked = page.waitForRequest(/regenerate$/);
  await page.route("**/regenerate", (route) => route.fulfill({ status: 503, body: "{}" }));
  await answer.getByTestId("retry").click();
  await asked;
});

test("a failed answer with a completed step is resumed", async ({ page }) => {
  const failed = { content: "", status: "failed", error: "Nothing came.", error_code: "model_timeout", calls: [call("add", { a: 1 })] };
  await open(page, conversation("Failed", [["One", failed]]));
  const answer = page.locator('article[data-role="assistant"]');
  await expect(answer.getByTestId("continue")).toBeVisible();
  await expect(answer.getByTestId("retry")).toHaveCount(0);
});

test("one click requests the rest of a truncated answer", async ({ page, tolerated }) => {
  tolerated.push(/Failed to load resource/);
  const short = { content: "So far", stop_reason: "max_tokens" } as { content: string };
  await open(page, conversation("Long", [["One", short]]));
  const sent = page.waitForRequest((request) => request.method() === "POST" && request.url().endsWith("/messages"));
  await page.route("**/messages", (route) => route.fulfill({ status: 503, body: "{}" }));
  await page.getByTestId("ask-for-rest").click();
  expect((await sent).postDataJSON().content).toBe("Continue.");
});
