// Tests budgets on the page: the remaining amount and a warning in the settings, a refusal in a chat that keeps the
// message, and a higher budget.

import type { APIRequestContext } from "@playwright/test";
import { ChatPage, alive } from "../kit/chat.ts";
import { USAGE } from "../kit/model.ts";
import { expect, test } from "../kit/test.ts";

test.use({ scripted: true, settings: { LLM_TITLES: "false" } });

const ANSWER_TOKENS = USAGE.prompt_tokens + USAGE.completion_tokens;

/** Sets one budget of tokens for all users, or none. */
async function setBudget(request: APIRequestContext, limit?: number, warn_at = 0.8): Promise<void> {
  const budgets = limit === undefined ? [] : [{ principal: "all", period: "month", tokens: limit, warn_at }];
  expect((await request.put("/api/admin/budgets", { data: budgets })).status()).toBe(200);
}

/** Formats a number of tokens. */
function tokens(number: number): string {
  return number.toLocaleString("en-US");
}

test("a budget warns in the settings, refuses a message without losing it, and can be raised", async ({ page, request, model, tolerated }) => {
  tolerated.push(/status of 429/);
  const chat = new ChatPage(page);
  await page.goto("/");
  await alive(page);
  model.answer(["Hello."]);
  await expect(await chat.ask("Who are you?")).toContainText("Hello.");
  const address = page.url();

  const allowance = page.getByTestId("allowance").last();
  const nearly = Math.ceil(ANSWER_TOKENS / 0.9);
  const left = `${tokens(nearly - ANSWER_TOKENS)} of ${tokens(nearly)} left until `;
  await test.step("the settings show what is left, and warn", async () => {
    await setBudget(request, nearly);
    await page.goto("/settings");
    await expect(allowance).toContainText(`Nearly used up: ${left}`);
    await expect(allowance.getByRole("meter")).toHaveJSProperty("value", nearly - ANSWER_TOKENS);
    await expect(allowance.getByRole("meter")).toHaveJSProperty("max", nearly);
  });

  const notice = page.getByTestId("budget-notice");
  await test.step("so does a notice above the message field, until it is dismissed", async () => {
    await page.goto(address);
    await expect(notice).toContainText(`Tokens this month, for all users together: Nearly used up: ${left}`);
    await page.getByTestId("dismiss-budgets").click();
    await expect(notice).toHaveText("");
    await expect(page.getByTestId("composer")).toBeFocused();
    const loaded = page.waitForResponse("**/api/me");
    await page.reload();
    await loaded;
    await expect(notice).toHaveText("");
  });

  await test.step("a used-up budget refuses the next message", async () => {
    await setBudget(request, ANSWER_TOKENS);
    await page.goto("/settings");
    await expect(allowance).toContainText(`Used up: 0 of ${tokens(ANSWER_TOKENS)} left until `);
    await page.goto(address);
    await alive(page);
    await expect(notice, "this is another warning").toContainText("Used up:");
    await page.getByTestId("composer").fill("And now?");
    await page.getByTestId("send").click();
    await expect(page.getByTestId("notice")).toContainText("The server's budget of tokens for this month is used up.");
    await expect(page.getByTestId("composer")).toHaveValue("And now?");
    await expect(chat.messages).toHaveCount(2);
  });

  await test.step("a higher budget applies at once", async () => {
    const higher = 100 * ANSWER_TOKENS + 1_000_000;
    await setBudget(request, higher);
    model.answer(["Here again."]);
    await page.getByTestId("send").click();
    await expect(chat.answers.last()).toContainText("Here again.");
    await expect(page.getByTestId("notice")).toHaveCount(0);
    await expect(chat.messages).toHaveCount(4);
    await expect(notice, "the budget was read again after the answer").toHaveText("");
    await page.goto("/settings");
    await expect(allowance).toContainText(`${tokens(higher - 2 * ANSWER_TOKENS)} of ${tokens(higher)} left until `);
    await expect(allowance).not.toContainText("sed up");
  });
  await setBudget(request);
});

test.describe("in Japanese on a phone", () => {
  test.use({ locale: "ja-JP", viewport: { width: 360, height: 740 } });

  test("the notice fits", async ({ page, request }) => {
    await setBudget(request, 1_000_000, 0);
    await page.goto("/");
    const me = await (await request.get("/api/me")).json();
    const left = tokens(1_000_000 - me.budgets[0].tokens.used);
    await expect(page.getByTestId("budget-notice")).toContainText(`残りわずか: 残り${left}（上限1,000,000、`);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
    await setBudget(request);
  });
});
