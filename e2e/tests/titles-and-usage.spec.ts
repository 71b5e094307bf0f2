// What the model gives besides its answers: a title after the first one, and what each cost.

import { ChatPage } from "../kit/chat.ts";
import { gate } from "../kit/model.ts";
import { chooseInMenu } from "../kit/sidebar.ts";
import { expect, test } from "../kit/test.ts";

test.use({ scripted: true });

test("the question is the title until the model has written one, which a name of one's own replaces for good", async ({ page, model }) => {
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

  held.open();
  await expect(link).toHaveText("Two small numbers");
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

test("an answer says what it cost, to the figure, and the title is nobody's cost", async ({ page, model }) => {
  const chat = new ChatPage(page);
  for (const text of ["It is 5.", "A title", "It is 7."]) model.answer([text]);
  await page.goto("/");
  await chat.ask("How much is two and three?");
  await expect(page.getByTestId("conversation-link").first()).toHaveText("A title");
  await chat.ask("And three and four?");
  for (const when of ["live", "reloaded"]) {
    const each = "1,200 tokens in · 34 out";
    await expect(page.getByTestId("usage"), when).toHaveText([each, each]);
    await expect(page.getByTestId("usage-in-all"), when).toHaveText("In all 2,400 tokens in · 68 out");
    await page.reload();
  }
});
