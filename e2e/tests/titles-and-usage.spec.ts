// Tests the title that the model writes after the first answer, and the usage of answers and conversations.

import { violations } from "../kit/axe.ts";
import { ChatPage } from "../kit/chat.ts";
import { gate } from "../kit/model.ts";
import { chooseInMenu } from "../kit/sidebar.ts";
import { expect, test } from "../kit/test.ts";

test.use({ scripted: true });

test("the question is the title until the model has written one, and a user's title replaces it permanently", async ({ page, model }) => {
  const chat = new ChatPage(page);
  const held = gate();
  async function* title() {
    await held.opened;
    yield "Two small numbers";
  }
  model.answer(["It is 5."]);
  model.answer(title());
  await page.goto("/");
  await chat.ask("How much is two and three?");
  const link = page.getByTestId("conversation-link").first();
  await expect(link).toHaveText("How much is two and three?");
  await expect(page).toHaveTitle("How much is two and three? · Tallybook");

  const menu = page.getByTestId("conversation-menu");
  await menu.click();
  await expect(page.getByTestId("menu-rename")).toBeVisible();
  held.open();
  await expect(link).toHaveText("Two small numbers");
  await expect(menu).toHaveText("Two small numbers");
  await expect(page.getByTestId("menu-rename"), "an open menu stays").toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page).toHaveTitle("Two small numbers · Tallybook");

  await chooseInMenu(page.locator(".conversation-row").first(), "rename");
  await page.getByTestId("rename-field").fill("Fives");
  await page.keyboard.press("Enter");
  await expect(page).toHaveTitle("Fives · Tallybook");
  model.answer(["It is 7."]);
  await chat.ask("And three and four?");
  await page.reload();
  await expect(link).toHaveText("Fives");
});

test("an answer shows its exact usage, which excludes the title", async ({ page, model }) => {
  const chat = new ChatPage(page);
  for (const text of ["It is 5.", "A title", "It is 7."]) model.answer([text]);
  await page.goto("/");
  await chat.ask("How much is two and three?");
  await expect(page.getByTestId("conversation-link").first()).toHaveText("A title");
  await chat.ask("And three and four?");
  for (const when of ["live", "reloaded"]) {
    const each = "1,200 tokens in · 34 out";
    for (const answer of [0, 1]) await expect(chat.answers.nth(answer).getByTestId("usage"), when).toHaveText(each);
    await expect(page.getByTestId("usage"), "and nowhere else").toHaveCount(2);
    await expect(page.getByTestId("usage-in-all"), when).toHaveText("Total: 2,400 tokens in · 68 out");
    await page.reload();
  }
});

test("usage is shown by purpose on request, for an answer and for the conversation with its title", async ({ page, model, tolerated }) => {
  // The test aborts the last request on purpose.
  tolerated.push(/Failed to load resource: net::ERR_FAILED/);
  const chat = new ChatPage(page);
  const asked: string[] = [];
  page.on("request", (request) => {
    if (request.url().endsWith("/usage")) asked.push(request.url());
  });
  model.answer([{ tool: "add", input: '{"a":2,"b":3}' }]);
  for (const text of ["It is 5.", "A title"]) model.answer([text]);
  await page.goto("/");
  await chat.ask("How much is two and three?");
  await expect(page.getByTestId("conversation-link").first()).toHaveText("A title");
  expect(asked).toEqual([]);

  const sheet = page.getByTestId("usage-sheet");
  await page.getByTestId("usage").click();
  await expect(sheet.getByTestId("usage-row")).toHaveText(["Answers2 calls · 2,400 tokens in · 68 out"]);
  expect(await violations(page, ["[data-testid=usage-sheet]"])).toEqual([]);
  await page.keyboard.press("Escape");
  await expect(sheet).toHaveCount(0);
  await expect(page.getByTestId("usage")).toBeFocused();

  await page.getByTestId("conversation-menu").click();
  await page.getByTestId("menu-usage").click();
  await expect(sheet.getByTestId("usage-row")).toHaveText([
    "Answers2 calls · 2,400 tokens in · 68 out",
    "Titles1 call · 1,200 tokens in · 34 out",
    "Total3 calls · 3,600 tokens in · 102 out",
  ]);
  await test.step("no word is split on a phone", async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    const lines = (label: Element) => label.firstElementChild!.getClientRects()[0]!.height / parseFloat(getComputedStyle(label).lineHeight);
    for (const label of await sheet.getByTestId("usage-row").all()) expect(await label.evaluate(lines)).toBeLessThan(1.5);
    await page.setViewportSize({ width: 1280, height: 720 });
  });
  await sheet.getByRole("button", { name: "Close" }).click();
  await expect(sheet).toHaveCount(0);
  await expect(page.getByTestId("composer"), "the menu is closed").toBeFocused();

  await page.route("**/usage", (route) => route.abort());
  await page.getByTestId("usage").click();
  await expect(sheet.locator(".failure")).toBeVisible();
});
