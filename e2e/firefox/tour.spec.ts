// Tests the main uses of the page in Firefox. It does not repeat the tests in Chromium: it covers what browsers do differently,
// such as streams, popovers, dialogs, focus, and keys that the browser uses itself.

import type { Locator, Page } from "@playwright/test";
import { ChatPage, alive, toolCalls, untimedText } from "../kit/chat.ts";
import { gate } from "../kit/model.ts";
import { expect, test } from "../kit/test.ts";

test.use({ scripted: true, settings: { LLM_TITLES: "false" } });

const ADD = { tool: "add", input: '{"a":"12.5","b":"7.25"}' };
const MULTIPLY = { tool: "multiply", input: '{"a":"19.75","b":"4"}' };

/** An answer that never ends by itself. */
async function* endless(): AsyncIterable<string> {
  yield "It begins, ";
  await gate().opened;
}

async function open(page: Page, address = "/"): Promise<ChatPage> {
  await page.goto(address);
  await alive(page);
  return new ChatPage(page);
}

test("a question is answered with tools, its calls can be opened, and a reload shows the same", async ({ page, model }) => {
  const chat = await open(page);
  const held = gate();
  async function* answer() {
    yield "That makes ";
    await held.opened;
    yield "**79**.";
  }
  for (const pieces of [[ADD], [MULTIPLY], answer()]) model.answer(pieces);
  const shown = await chat.send("What is (12.5 + 7.25) × 4?");
  await expect(shown, "the answer grows before the user's eyes").toContainText("That makes");
  await expect(shown).toHaveAttribute("data-status", "streaming");
  held.open();
  await expect(shown).toHaveAttribute("data-status", "complete");
  await expect(shown.locator("strong")).toHaveText("79");

  await test.step("with the mouse and with the keyboard", async () => {
    await shown.getByTestId("tool-group").click();
    const last = toolCalls(shown).last();
    const details = shown.getByTestId("tool-call-details");
    await last.click();
    await expect(details).toContainText("79");
    await last.press("Enter");
    await expect(details).toBeHidden();
    await shown.getByTestId("tool-group").press("Space");
    await expect(last).toBeHidden();
  });

  const before = await untimedText(shown);
  await page.reload();
  await alive(page);
  expect(await untimedText(shown)).toBe(before);
  await expect(chat.messages).toHaveCount(2);
});

test("an answer continues after a reload, and Stop ends it permanently", async ({ page, model }) => {
  const chat = await open(page);
  model.answer(endless());
  const answer = await chat.send("Tell me everything.");
  await expect(answer).toContainText("It begins");
  await page.reload();
  await expect(answer).toContainText("It begins");
  await expect(answer).toHaveAttribute("data-status", "streaming");
  await page.getByTestId("stop").click();
  await expect(answer).toHaveAttribute("data-status", "stopped");
  await expect(page.getByTestId("send")).toBeVisible();
  await page.reload();
  await expect(answer).toHaveAttribute("data-status", "stopped");

  await test.step("Esc does the same as Stop", async () => {
    await alive(page);
    model.answer(endless());
    const next = await chat.send("Then tell me the rest.");
    await expect(next).toContainText("It begins");
    await page.keyboard.press("Escape");
    await expect(next).toHaveAttribute("data-status", "stopped");
  });
});

test("the list can be searched, opens a conversation, and shows changes from elsewhere", async ({ page, request }) => {
  const made: string[] = [];
  for (const title of ["Apples", "Pears"]) {
    const { uuid } = await (await request.post("/api/conversations", { data: { title } })).json();
    made.push(`/c/${uuid}`);
  }
  const [apples, pears] = made.map((address) => page.getByTestId("sidebar").locator(`[href="${address}"]`)) as [Locator, Locator];
  await open(page);
  await page.getByTestId("search").fill("pear");
  await expect(apples).toBeHidden();
  await pears.click();
  await expect(page).toHaveURL(made[1]!);
  await expect(page.getByTestId("conversation-menu")).toHaveText("Pears");
  await page.getByTestId("search").fill("");
  await apples.click();
  await expect(page.getByTestId("conversation-menu")).toHaveText("Apples");
  await page.goBack();
  await expect(page.getByTestId("conversation-menu")).toHaveText("Pears");

  await request.patch(`/api/conversations/${made[0]!.slice(3)}`, { data: { title: "Quinces" } });
  await expect(apples).toHaveText("Quinces");
  await page.getByTestId("conversation-menu").click();
  await expect(page.getByTestId("markdown")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByTestId("markdown")).toBeHidden();
});

test("the page handles keys that Firefox uses itself", async ({ page, request, model }) => {
  const { uuid } = await (await request.post("/api/conversations", { data: { title: "Keys" } })).json();
  const chat = await open(page, `/c/${uuid}`);
  for (const pieces of [[ADD], ["It is 19.75."]]) model.answer(pieces);
  await page.getByTestId("composer").fill("What is 12.5 + 7.25?");
  await page.keyboard.press("Enter");
  await expect(chat.answers).toHaveAttribute("data-status", "complete");

  await page.getByTestId("composer").blur();
  await page.keyboard.press("[");
  await expect(toolCalls(chat.answers)).toBeFocused();
  await page.keyboard.press("e");
  await expect(page.getByTestId("tool-call-details")).toBeVisible();
  await page.keyboard.press("e");
  await expect(page.getByTestId("tool-call-details")).toBeHidden();

  const help = page.getByTestId("help");
  await page.keyboard.press("Control+/");
  await expect(help).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(help).toBeHidden();

  await page.keyboard.press("Control+Shift+O");
  await expect(page).toHaveURL("/");
  await expect(page.getByTestId("composer")).toBeFocused();
  await page.keyboard.press("Control+Shift+F");
  await expect(page.getByTestId("search")).toBeFocused();

  await page.keyboard.press("Control+k");
  await page.keyboard.type("keys");
  await expect(page.getByTestId("palette-option").first()).toHaveText("Keys");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(`/c/${uuid}`);
});
