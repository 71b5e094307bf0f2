// Tests that the names of files stay text wherever the page shows them, and that they reorder no other text.

import type { Locator } from "@playwright/test";
import { ChatPage, alive } from "../kit/chat.ts";
import { attach, sidewaysPhoto, textFile } from "../kit/files.ts";
import { watch } from "../kit/hostile.ts";
import { gate } from "../kit/model.ts";
import { expect, test } from "../kit/test.ts";

test.use({ scripted: true, settings: { LLM_TITLES: "false" } });

const MARKUP = "<img src=x onerror=alert(1)>";
const IMAGE = `${MARKUP}.png`;
const NOTES = `${MARKUP}.txt`;
/** With a right-to-left override, before which the file's end looks like `txt.fdp`. */
const REORDERED = "invoice\u202efdp.txt";
/** The name that the server stores. */
const STORED = "invoicefdp.txt";

const photo = () => ({ ...sidewaysPhoto(), name: IMAGE });
const notes = () => [textFile(NOTES, "Heron."), textFile(REORDERED, "Stork.")];

/** Checks that the characters of a name stay within it: they do not change the direction of the text around it. */
async function expectIsolated(names: Locator): Promise<void> {
  for (const name of await names.all()) await expect(name).toHaveCSS("unicode-bidi", "isolate");
}

test("names of files are text in the message field, the queue, messages, an edit and the viewer", async ({ page, model }) => {
  const harmless = await watch(page);
  const chat = new ChatPage(page);
  const ready = page.locator('[data-testid="attachment"][data-state="ready"]');
  const names = ready.locator(".file-name");
  const held = gate();
  model.answer(
    (async function* () {
      yield "First answer.";
      await held.opened;
    })(),
  );
  model.answer(["Second answer."]);
  await page.goto("/");
  await alive(page);
  await chat.send("One");
  await expect(chat.answers).toContainText("First answer.");

  await attach(page, photo(), ...notes());
  await expect(names).toHaveText([IMAGE, NOTES, STORED]);
  await expectIsolated(names);
  await expect(page.getByRole("button", { name: `Remove ${NOTES}` })).toBeVisible();
  await harmless();

  await chat.page.getByTestId("composer").fill("Two");
  await page.getByTestId("composer").press("Enter");
  const queued = page.getByTestId("queued").locator(".file-name");
  await expect(queued).toHaveText([IMAGE, NOTES, STORED]);
  await expectIsolated(queued);
  await harmless();

  held.open();
  await expect(chat.answers.last()).toContainText("Second answer.");
  const question = chat.messages.nth(2);
  const shown = question.getByTestId("message-file");
  await expect(shown).toHaveCount(3);
  await expect(shown.first().getByAltText(IMAGE, { exact: true })).toBeVisible();
  await expect(question.locator(".file-name")).toHaveText([NOTES, STORED]);
  await expectIsolated(question.locator(".file-name"));
  await harmless();

  await shown.first().click();
  const title = page.getByTestId("file-viewer").getByRole("heading");
  for (const name of [IMAGE, NOTES, STORED]) {
    await expect(title).toHaveText(name);
    await harmless();
    await page.keyboard.press("ArrowRight");
  }
  await page.keyboard.press("Escape");

  await question.hover();
  await question.getByTestId("edit").click();
  await expect(page.locator(".edit .file-name")).toHaveText([IMAGE, NOTES, STORED]);
  await expectIsolated(page.locator(".edit .file-name"));
  await harmless();
});

test("names of files are text on a shared page", async ({ page, browser, baseURL, model }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  await alive(page);
  await attach(page, photo(), ...notes());
  await expect(page.locator('[data-testid="attachment"][data-state="ready"]')).toHaveCount(3);
  model.answer(["Files."]);
  await chat.ask("What are these?");
  await page.getByTestId("conversation-menu").click();
  await page.getByTestId("menu-share").click();
  const sheet = page.getByTestId("share-sheet");
  await sheet.getByTestId("share-files").check();
  await sheet.getByTestId("make-link").click();
  const address = (await sheet.getByTestId("share").getByRole("link").getAttribute("href"))!;

  const context = await browser.newContext({ baseURL: baseURL! });
  const guest = await context.newPage();
  const harmless = await watch(guest);
  await guest.goto(address);
  await expect(guest.getByAltText(IMAGE, { exact: true })).toBeVisible();
  await expect(guest.locator(".file-name")).toHaveText([NOTES, STORED]);
  await expectIsolated(guest.locator(".file-name"));
  await harmless();
  await context.close();
});
