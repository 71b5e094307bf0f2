// Tests switching between conversations: what the user writes and presses belongs to the conversation that is shown.

import type { Page } from "@playwright/test";
import { ChatPage, alive, mounted } from "../kit/chat.ts";
import { converse } from "../kit/converse.ts";
import { gate } from "../kit/model.ts";
import { chooseInMenu } from "../kit/sidebar.ts";
import { expect, test } from "../kit/test.ts";

/** Makes a tab appear hidden or visible to its page. */
async function setHidden(page: Page, hidden: boolean): Promise<void> {
  await page.evaluate((hidden) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
    document.dispatchEvent(new Event("visibilitychange", { bubbles: true }));
  }, hidden);
}

test("a message that is written while a conversation loads is sent to that conversation", async ({ page, request }) => {
  const other = await converse(request, 1);
  const chat = new ChatPage(page);
  await page.goto("/");
  await chat.ask("What is 1 + 1?");
  const first = chat.api();
  await page.getByTestId("composer").fill("A thought for the first");
  const held = gate();
  await page.route(`**/api/conversations/${other.slice(3)}?*`, async (route) => {
    await held.opened;
    await route.continue();
  });
  await page.locator(`[href="${other}"]`).click();
  await expect(page).toHaveURL(other);
  await expect(page.getByTestId("skeleton")).toBeVisible();
  await expect(chat.messages, "the shown messages belong to the previous address").toHaveCount(0);
  await expect(page.getByTestId("composer")).toHaveValue("");
  await page.getByTestId("composer").fill("What is 2 + 3?");
  await page.keyboard.press("Enter");
  await expect(page.locator(".bubble").getByText("What is 2 + 3?")).toBeVisible();
  held.open();
  await expect(chat.messages).toHaveCount(4);
  await expect(chat.answers.last()).toHaveAttribute("data-status", "complete");
  await expect(chat.answers.last()).toContainText("5");
  const { messages } = await (await request.get(first)).json();
  expect(messages).toHaveLength(2);
  await page.locator(`[href="${first.replace("/api/conversations", "/c")}"]`).click();
  await expect(page.getByTestId("composer")).toHaveValue("A thought for the first");
});

test("Back restores the scroll position in a conversation", async ({ page, request }) => {
  const [long, other] = [await converse(request, 30), await converse(request, 1)];
  await page.goto(long);
  await alive(page);
  const thread = page.locator("#thread");
  /** Returns the id of the first message in view, and its distance from the top in pixels. The id is empty while messages load. */
  const reading = () =>
    thread.evaluate((area) => {
      const top = area.getBoundingClientRect().top;
      const first = [...area.querySelectorAll("article")].find((message) => message.getBoundingClientRect().bottom > top);
      if (!first) return ["", 0] as const;
      return [first.id, Math.round(first.getBoundingClientRect().top - top)] as const;
    });
  await mounted(page);
  await thread.hover();
  await page.mouse.wheel(0, -1500);
  await expect(page.getByTestId("jump")).toBeVisible();
  // Waits until scrolling has ended.
  let [id, offset] = await reading();
  await expect.poll(async () => {
    const [before, at] = [id, offset];
    [id, offset] = await reading();
    return before === id && at === offset;
  }).toBe(true);
  await page.getByTestId("sidebar").locator(`[href="${other}"]`).click();
  await expect(page).toHaveURL(other);
  await expect(page.locator("article")).toHaveCount(2);
  await page.goBack();
  await expect(page).toHaveURL(long);
  await expect.poll(async () => (await reading())[0]).toBe(id);
  await expect.poll(async () => Math.abs((await reading())[1] - offset)).toBeLessThan(4);
  await expect(page.getByTestId("jump")).toBeVisible();
  await expect(page.locator("[data-goal]"), "no message is marked").toHaveCount(0);
});

test("the second of two unlisted conversations that are opened in a row has its title and menu", async ({ page, request }) => {
  const [first, second] = [await converse(request, 1), await converse(request, 1)];
  await request.patch(`/api/conversations/${second.slice(3)}`, { data: { title: "The second one" } });
  for (let number = 1; number <= 60; number++) await request.post("/api/conversations", { data: { title: `Sheet ${number}` } });
  await page.goto("/");
  await alive(page);
  const held = [gate(), gate()];
  for (const [at, address] of [first, second].entries()) {
    await page.route(`**/api/conversations/${address.slice(3)}?*`, async (route) => {
      await held[at]!.opened;
      await route.continue();
    });
  }
  const open = async (address: string) => {
    await page.evaluate((address) => {
      const link = document.body.appendChild(Object.assign(document.createElement("a"), { href: address }));
      link.click();
      link.remove();
    }, address);
    await expect(page).toHaveURL(address);
  };
  await open(first);
  await open(second);
  const late = page.waitForResponse((response) => response.url().includes(`${first.slice(3)}?limit=1`));
  held[0]!.open();
  await (await late).finished();
  held[1]!.open();
  await expect(page.getByTestId("conversation-menu")).toHaveText("The second one");
  await expect(page.locator("article")).toHaveCount(2);
});

test("a conversation that is being deleted accepts no messages, and accepts them after an undo", async ({ page }) => {
  const chat = new ChatPage(page);
  const start = Date.now();
  await page.clock.install({ time: start });
  await page.goto("/");
  await chat.ask("What is 1 + 1?");
  const row = page.locator(".conversation-row").filter({ has: page.locator(`[href="${new URL(page.url()).pathname}"]`) });
  await expect(row).toBeVisible();
  // Pauses the clock, so that the time to undo the deletion does not run out.
  await page.clock.pauseAt(start + 600_000);
  await chooseInMenu(row, "delete");
  await page.getByTestId("composer").fill("What is 2 + 3?");
  await expect(page.getByTestId("send")).toBeDisabled();
  await expect(page.getByTestId("send")).toHaveAttribute("title", /being deleted/);
  await page.keyboard.press("Enter");
  await expect(page.getByTestId("composer")).toHaveValue("What is 2 + 3?");
  await page.getByTestId("undo").click();
  await page.clock.resume();
  await page.getByTestId("send").click();
  await expect(chat.answers.nth(1)).toContainText("5");
});

test("a conversation that was deleted elsewhere shows that, and the draft moves to a new chat", async ({ page, request }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  await chat.ask("What is 1 + 1?");
  await page.getByTestId("composer").fill("Half a thought");
  await request.delete(chat.api());
  await expect(page.getByTestId("deleted-notice")).toContainText("deleted in another tab or on another device");
  const hint = "This conversation was deleted. Send this in a new chat.";
  await expect(page.getByTestId("composer")).toHaveAccessibleDescription(hint);
  await expect(chat.messages, "it can still be read").toHaveCount(2);
  await expect(page.getByTestId("composer")).toHaveValue("Half a thought");
  await expect(page.getByTestId("send")).toBeDisabled();
  await page.getByTestId("go-on-in-new-chat").click();
  await expect(page).toHaveURL("/");
  await expect(page.getByTestId("example").first()).toBeVisible();
  await expect(page.getByTestId("composer")).toHaveValue("Half a thought");
});

test("a tab that becomes visible reloads only the messages that may have changed", async ({ page, request }) => {
  const address = await converse(request, 5);
  await page.goto(address);
  await mounted(page);
  const read = () => page.waitForRequest((asked) => asked.method() === "GET" && asked.url().includes(`${address.slice(3)}?`));
  await setHidden(page, true);
  const asked = read();
  await setHidden(page, false);
  const url = new URL((await asked).url());
  expect(url.searchParams.get("limit")).toBe("2");
  const chat = new ChatPage(page);
  await setHidden(page, true);
  await (await request.post(`${chat.api()}/messages`, { data: { content: "What is 40 + 2?" } })).text();
  await setHidden(page, false);
  await expect(chat.messages).toHaveCount(12);
  await expect(chat.answers.last()).toContainText("42");
});
