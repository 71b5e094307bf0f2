// Tests sharing a conversation with a link: created on the page, opened without an account and without scripts, and revoked.

import { NOTHING, findings } from "../kit/axe.ts";
import { ChatPage, act } from "../kit/chat.ts";
import { ALL, watch } from "../kit/hostile.ts";
import { expect, test } from "../kit/test.ts";

test.use({ scripted: true, settings: { LLM_TITLES: "false" } });

test("a link shows the conversation without an account and without scripts, until it is revoked", async ({ page, browser, baseURL, model }) => {
  model.answer([{ tool: "add", input: '{"a":1,"b":20.5}' }]);
  model.answer([`It is **21.5**.\n\n| a | b |\n|-|-|\n| 1 | 2 |\n\n\`\`\`\n${"long ".repeat(50)}\n\`\`\`\n\n${ALL}`]);
  const chat = new ChatPage(page);
  await page.goto("/");
  await chat.ask("What is 1 + 20.5?");
  await page.getByTestId("conversation-menu").click();
  await page.getByTestId("menu-share").click();
  const sheet = page.getByTestId("share-sheet");
  await sheet.getByTestId("share-calls").check();
  await sheet.getByTestId("make-link").click();
  const link = sheet.getByTestId("share").getByRole("link");
  await expect(link).toHaveText(/^http:\/\/.*\/s\/[0-9a-f-]{36}$/);
  expect(await findings(page, "[data-testid=share-sheet]")).toEqual(NOTHING);
  const address = (await link.getAttribute("href"))!;

  const context = await browser.newContext({ baseURL: baseURL!, javaScriptEnabled: false, viewport: { width: 360, height: 700 } });
  const guest = await context.newPage();
  const harmless = await watch(guest);
  await guest.goto(address);
  await expect(guest.getByText("What is 1 + 20.5?").last()).toBeVisible();
  await expect(guest.locator(".prose strong").first()).toHaveText("21.5");
  await guest.locator("summary").click();
  await expect(guest.locator("details pre").first()).toContainText("20.5");
  await harmless();
  await expect(guest.locator("script")).toHaveCount(0);
  await expect(guest.locator("button:visible")).toHaveText(["Continue in your own chat"]);

  await test.step("the shared page passes axe in both themes and languages, and does not scroll sideways", async () => {
    const looking = await browser.newContext({ baseURL: baseURL!, viewport: { width: 360, height: 700 }, serviceWorkers: "block" });
    const looked = await looking.newPage();
    for (const language of ["en", "ja"]) {
      await looking.addCookies([{ name: "tallybook_language", value: language, url: baseURL! }]);
      await looked.goto(address);
      await expect(looked.locator("html")).toHaveAttribute("lang", language);
      await looked.locator("summary").click();
      expect(await findings(looked), language).toEqual(NOTHING);
      expect(await looked.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
    }
    await looking.close();
  });

  await sheet.getByTestId("revoke-share").click();
  await expect(sheet.getByTestId("share")).toHaveCount(0);
  expect((await guest.goto(address))!.status()).toBe(404);
  await context.close();
});

test("hidden characters are codes in a shared conversation, in playback and in the tool history", async ({ page, model }) => {
  model.answer([{ tool: "add", input: JSON.stringify({ a: "1\u200b", ["b\u202e"]: `2${"\n".repeat(50)}3` }) }]);
  model.answer(["It was refused."]);
  const chat = new ChatPage(page);
  await page.goto("/");
  await chat.ask("Add");
  const shown = /1⟨U\+200B⟩/;
  await act(chat.answers.last(), "play-again");
  const sheet = page.getByTestId("playback");
  await sheet.getByTestId("playback-toggle").click();
  await sheet.getByTestId("playback-place").press("End");
  await expect(sheet.getByTestId("tool-call")).toContainText(shown);
  await page.keyboard.press("Escape");
  await page.getByTestId("conversation-menu").click();
  await page.getByTestId("menu-share").click();
  await page.getByTestId("share-calls").check();
  await page.getByTestId("make-link").click();
  const address = (await page.getByTestId("share").getByRole("link").getAttribute("href"))!;

  await page.goto(address);
  await page.locator("summary").click();
  await expect(page.locator("summary")).toContainText(shown);
  const details = page.locator(".tool-details");
  await expect(details.getByTestId("hidden-characters").first()).toContainText("1 invisible character");
  await expect(details.locator("pre").first()).toContainText("b⟨U+202E⟩");

  await page.goto("/admin");
  await expect(page.getByTestId("call").first()).toContainText(shown);
  await page.getByTestId("call").first().locator(".when a").click();
  await expect(page.locator(".history-text").first()).toContainText(/text direction control/);
  await expect(page.locator(".history-text pre").first()).toContainText(shown);
  expect(await page.locator("main").innerText()).not.toMatch(/[\u200b\u202e]/);
});
