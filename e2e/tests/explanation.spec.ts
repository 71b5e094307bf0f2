// Tests the explanation of an answer: the user requests it below the answer, and it appears there.

import { ChatPage, openMenu } from "../kit/chat.ts";
import { expect, test } from "../kit/test.ts";

test.use({ scripted: true, settings: { LLM_TITLES: "false" } });

test("an answer with tool calls explains on request what it did and why", async ({ page, model }) => {
  const chat = new ChatPage(page);
  model.answer([{ tool: "add", input: '{"a":"2","b":"3"}' }]);
  model.answer(["It is 5."]);
  await page.goto("/");
  const answer = await chat.ask("How much is two and three?");
  model.answer(["- It added the numbers <b>exactly</b>.\n- It read the result."]);
  await (await openMenu(answer)).getByRole("menuitem", { name: "Explain this answer" }).click();
  await expect(answer.getByTestId("explanation").locator("li")).toHaveText([
    "It added the numbers <b>exactly</b>.",
    "It read the result.",
  ]);
  // An answer without tool calls offers no explanation.
  model.answer(["You are welcome."]);
  const thanks = await chat.ask("Thanks");
  const menu = await openMenu(thanks);
  await expect(menu.getByTestId("play-again")).toBeVisible();
  await expect(menu.getByTestId("explain")).toHaveCount(0);
});
