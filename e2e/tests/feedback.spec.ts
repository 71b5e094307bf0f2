// Tests feedback on answers: ratings, the reason of a bad rating, the keyboard, and a request that fails.

import type { Locator } from "@playwright/test";
import { NOTHING, findings } from "../kit/axe.ts";
import { ChatPage, alive } from "../kit/chat.ts";
import { gate } from "../kit/model.ts";
import { expect, test } from "../kit/test.ts";

test.use({ scripted: true, settings: { LLM_TITLES: "false" } });

function buttons(answer: Locator): { up: Locator; down: Locator; reason: Locator } {
  return {
    up: answer.getByRole("button", { name: "Good answer" }),
    down: answer.getByRole("button", { name: "Bad answer" }),
    reason: answer.getByRole("textbox", { name: "What was wrong?" }),
  };
}

test("an answer is rated, the rating is there after a reload, and a press removes it", async ({ page, request }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  const { up, down, reason } = buttons(await chat.ask("What is 1 + 2?"));
  const stored = async () => (await (await request.get(chat.api())).json()).messages[1].feedback;
  await expect(up).toHaveAttribute("aria-pressed", "false");
  await up.click();
  await expect(up).toHaveAttribute("aria-pressed", "true");
  await expect(reason).toBeHidden();
  await expect.poll(stored).toEqual({ rating: "up" });

  await down.click();
  await expect(up).toHaveAttribute("aria-pressed", "false");
  await expect(down).toHaveAttribute("aria-pressed", "true");
  await expect(reason).toBeFocused();
  expect(await findings(page)).toEqual(NOTHING);
  await page.keyboard.type("It is <three>.");
  await page.keyboard.press("Enter");
  await expect(reason).toBeHidden();
  await expect(down).toBeFocused();
  await expect.poll(stored).toEqual({ rating: "down", reason: "It is <three>." });
  await expect(down).toHaveAttribute("title", "Bad answer: It is <three>.");

  await page.reload();
  await alive(page);
  await expect(down).toHaveAttribute("aria-pressed", "true");
  await expect(down).toHaveAttribute("title", "Bad answer: It is <three>.");
  await down.click();
  await expect(down).toHaveAttribute("aria-pressed", "false");
  await expect(reason).toBeHidden();
  await expect.poll(stored).toBe(undefined);
});

test("the keyboard rates an answer, and Escape leaves the rating without a reason", async ({ page, request }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  const { up, down, reason } = buttons(await chat.ask("What is 1 + 2?"));
  await up.focus();
  await page.keyboard.press("Tab");
  await expect(down).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(reason).toBeFocused();
  await page.keyboard.type("Never mind");
  await page.keyboard.press("Escape");
  await expect(reason).toBeHidden();
  await expect(down).toBeFocused();
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Space");
  await expect(up).toHaveAttribute("aria-pressed", "true");
  await expect(down).toHaveAttribute("aria-pressed", "false");
  const stored = async () => (await (await request.get(chat.api())).json()).messages[1].feedback;
  await expect.poll(stored).toEqual({ rating: "up" });
});

test("presses while a rating is being stored end with the last one", async ({ page, request }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  const { up, down } = buttons(await chat.ask("What is 1 + 2?"));
  const held = gate();
  await page.route("**/feedback", async (route) => {
    await held.opened;
    await route.continue();
  });
  await up.click();
  await down.click();
  await down.click();
  await up.click();
  await expect(up).toHaveAttribute("aria-pressed", "true");
  held.open();
  const stored = async () => (await (await request.get(chat.api())).json()).messages[1].feedback;
  await expect.poll(stored).toEqual({ rating: "up" });
});

test("a rating that cannot be stored is taken back with a notice, and the text of its reason stays", async ({ page, tolerated }) => {
  tolerated.push(/Failed to load resource/);
  const chat = new ChatPage(page);
  await page.goto("/");
  const { up, down, reason } = buttons(await chat.ask("What is 1 + 2?"));
  await page.route("**/feedback", (route) => route.abort());
  await up.click();
  await expect(page.getByTestId("notice")).toBeVisible();
  await expect(up).toHaveAttribute("aria-pressed", "false");
  await page.unroute("**/feedback");
  await down.click();
  await expect(page.getByTestId("notice")).toBeHidden();
  await page.route("**/feedback", (route) => route.abort());
  await reason.fill("It is three.");
  await reason.press("Enter");
  await expect(page.getByTestId("notice")).toBeVisible();
  await expect(down).toHaveAttribute("aria-pressed", "true");
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
  await expect(answer.getByTestId("rate-up")).toHaveCount(0);
  writing.open();
  await expect(answer.getByTestId("rate-up")).toBeVisible();
});
