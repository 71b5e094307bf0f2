// Tests feedback on answers: ratings, the reason of a bad rating, the keyboard, and a request that fails.

import type { Locator } from "@playwright/test";
import { NOTHING, findings } from "../kit/axe.ts";
import { ChatPage, act, alive, openMenu } from "../kit/chat.ts";
import { gate } from "../kit/model.ts";
import { expect, test } from "../kit/test.ts";

test.use({ scripted: true, settings: { LLM_TITLES: "false" } });

/** Returns the buttons of given ratings, which remove them, and the field for the reason. */
function shown(answer: Locator): { up: Locator; down: Locator; reason: Locator } {
  return {
    up: answer.getByRole("button", { name: "Good answer", pressed: true }),
    down: answer.getByRole("button", { name: "Bad answer", pressed: true }),
    reason: answer.getByRole("textbox", { name: "What was wrong?" }),
  };
}

test("an answer is rated, the rating is there after a reload, and a press removes it", async ({ page, request }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  const answer = await chat.ask("What is 1 + 2?");
  const { up, down, reason } = shown(answer);
  const stored = async () => (await (await request.get(chat.api())).json()).messages[1].feedback;
  await expect(up).toHaveCount(0);
  await act(answer, "rate-up");
  await expect(up).toBeVisible();
  await expect(reason).toBeHidden();
  await expect.poll(stored).toEqual({ rating: "up" });

  const menu = await openMenu(answer);
  await expect(menu.getByRole("menuitemcheckbox", { name: "Good answer" })).toBeChecked();
  await menu.getByRole("menuitemcheckbox", { name: "Bad answer", checked: false }).click();
  await expect(up).toHaveCount(0);
  await expect(down).toBeVisible();
  await expect(reason).toBeFocused();
  expect(await findings(page)).toEqual(NOTHING);
  await page.keyboard.type("It is <three>.");
  await page.keyboard.press("Enter");
  await expect(reason).toBeHidden();
  await expect(answer.getByTestId("more")).toBeFocused();
  await expect.poll(stored).toEqual({ rating: "down", reason: "It is <three>." });
  await expect(down).toHaveAttribute("title", "Bad answer: It is <three>.");

  await page.reload();
  await alive(page);
  await expect(down).toHaveAttribute("title", "Bad answer: It is <three>.");
  await down.click();
  await expect(down).toHaveCount(0);
  await expect(answer.getByTestId("more"), "the focus stays with the answer").toBeFocused();
  await expect(reason).toBeHidden();
  await expect.poll(stored).toBe(undefined);
});

test("the keyboard rates an answer, and Escape leaves the rating without a reason", async ({ page, request }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  const answer = await chat.ask("What is 1 + 2?");
  const { up, down, reason } = shown(answer);
  await answer.getByTestId("more").press("Enter");
  const menu = page.getByRole("menu", { name: "More actions" });
  await expect(menu.getByRole("menuitem").first()).toBeFocused();
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  await expect(reason).toBeFocused();
  await page.keyboard.type("Never mind");
  await page.keyboard.press("Escape");
  await expect(reason).toBeHidden();
  await expect(down).toBeVisible();
  await expect(answer.getByTestId("more")).toBeFocused();
  await page.keyboard.press("Space");
  await expect(menu.getByRole("menuitem").first()).toBeFocused();
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Space");
  await expect(up).toBeVisible();
  await expect(down).toHaveCount(0);
  const stored = async () => (await (await request.get(chat.api())).json()).messages[1].feedback;
  await expect.poll(stored).toEqual({ rating: "up" });
});

test("presses while a rating is being stored end with the last one", async ({ page, request }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  const answer = await chat.ask("What is 1 + 2?");
  const { up, down } = shown(answer);
  const held = gate();
  await page.route("**/feedback", async (route) => {
    await held.opened;
    await route.continue();
  });
  await act(answer, "rate-up");
  await act(answer, "rate-down");
  await down.click();
  await act(answer, "rate-up");
  await expect(up).toBeVisible();
  held.open();
  const stored = async () => (await (await request.get(chat.api())).json()).messages[1].feedback;
  await expect.poll(stored).toEqual({ rating: "up" });
});

test("a rating that cannot be stored is taken back with a notice, and the text of its reason stays", async ({ page, tolerated }) => {
  tolerated.push(/Failed to load resource/);
  const chat = new ChatPage(page);
  await page.goto("/");
  const answer = await chat.ask("What is 1 + 2?");
  const { up, down, reason } = shown(answer);
  await page.route("**/feedback", (route) => route.abort());
  await act(answer, "rate-up");
  await expect(page.getByTestId("notice")).toBeVisible();
  await expect(up).toHaveCount(0);
  await page.unroute("**/feedback");
  await act(answer, "rate-down");
  await expect(page.getByTestId("notice")).toBeHidden();
  await page.route("**/feedback", (route) => route.abort());
  await reason.fill("It is three.");
  await reason.press("Enter");
  await expect(page.getByTestId("notice")).toBeVisible();
  await expect(down).toBeVisible();
  await expect(reason).toHaveValue("It is three.");
});

test("an answer can be rated once it has ended", async ({ page, model }) => {
  const chat = new ChatPage(page);
  const writing = gate();
  const pieces = async function* () {
    yield "It is ";
    await writing.opened;
    yield "3.";
  };
  model.answer(pieces());
  await page.goto("/");
  const answer = await chat.send("What is 1 + 2?");
  await expect(answer).toContainText("It is");
  await expect(answer.getByTestId("more")).toHaveCount(0);
  writing.open();
  await expect((await openMenu(answer)).getByTestId("rate-up")).toBeVisible();
});
