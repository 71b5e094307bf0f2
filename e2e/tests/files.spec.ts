// Tests that people can attach files: choose, paste and drop them, see them in messages, and open them.

import { readFile } from "node:fs/promises";
import type { Page } from "@playwright/test";
import { NOTHING, findings } from "../kit/axe.ts";
import { ChatPage, alive, boxOf } from "../kit/chat.ts";
import { attach, blackImage, japanesePdf, scannedPdf, sidewaysPhoto, textFile, transfer } from "../kit/files.ts";
import { gate } from "../kit/model.ts";
import { conversation, open } from "../kit/seed.ts";
import { expect, test } from "../kit/test.ts";

test.use({ scripted: true, settings: { LLM_TITLES: "false" } });

const chips = (page: Page) => page.getByTestId("attachment");
const ready = (page: Page) => page.locator('[data-testid="attachment"][data-state="ready"]');
const shown = (page: Page) => page.getByTestId("message-file");

test("a photo and a long document are attached, answered, reloaded and opened", async ({ page, model }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  await alive(page);
  await attach(page, sidewaysPhoto(), japanesePdf(40));
  await expect(ready(page)).toHaveCount(2);
  const thumbnail = chips(page).first().locator("img.file-thumb");
  await expect.poll(() => thumbnail.evaluate((image: HTMLImageElement) => image.naturalHeight > image.naturalWidth)).toBe(true);
  await expect(chips(page).nth(1).locator("img")).toHaveCount(0);
  await expect(chips(page).nth(1)).toContainText("40 pages");
  model.answer(["A cat and its report."]);
  await chat.ask("What are these?");
  await expect(chips(page)).toHaveCount(0);
  const request = model.lastRequest();
  expect(request).toContain("data:image/");
  expect(request).toContain("40ページ目");

  await expect(shown(page)).toHaveCount(2);
  await page.reload();
  await alive(page);
  await expect(shown(page)).toHaveCount(2);
  const image = shown(page).first().locator("img");
  await expect(image).toHaveAttribute("alt", "photo.jpg");
  await expect.poll(() => image.evaluate((image: HTMLImageElement) => image.naturalHeight > image.naturalWidth)).toBe(true);
  await expect(shown(page).nth(1)).toContainText("pages 1–40 of 40");

  await shown(page).first().click();
  const viewer = page.getByTestId("file-viewer");
  await expect(viewer.getByRole("heading")).toHaveText("photo.jpg");
  await page.keyboard.press("ArrowRight");
  await expect(viewer.getByTestId("file-text")).toContainText("1ページ目");
  await viewer.getByTestId("next-page").click();
  await expect(viewer.getByTestId("file-text")).toContainText("2ページ目");
  await page.keyboard.press("Escape");
  await expect(viewer).toBeHidden();
  await expect(shown(page).first()).toBeFocused();
});

test("the keyboard opens an image, shows it in its own size, and closes it", async ({ page, model }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  await alive(page);
  await attach(page, blackImage(3000, 2000));
  await expect(ready(page)).toHaveCount(1);
  model.answer(["Black."]);
  await chat.ask("What is this?");
  await shown(page).focus();
  await page.keyboard.press("Enter");
  const zoom = page.getByTestId("file-viewer").getByTestId("zoom");
  const width = async () => (await boxOf(zoom.locator("img"))).width;
  await expect(zoom).toHaveAttribute("aria-pressed", "false");
  await expect(zoom).toHaveAttribute("title", "Full size");
  const window = page.viewportSize()!.width;
  await expect.poll(width, "it fits the window").toBeLessThan(window);
  expect(await width()).toBeGreaterThan(window / 4);
  await zoom.focus();
  await page.keyboard.press("Enter");
  await expect(zoom).toHaveAttribute("aria-pressed", "true");
  await expect(zoom).toHaveAttribute("title", "Fit to window");
  await expect.poll(width, "each of its pixels is one of the page").toBe(3000);
  await zoom.click();
  await expect(zoom).toHaveAttribute("aria-pressed", "false");
  await expect.poll(width).toBeLessThan(window);
  await page.keyboard.press("Escape");
  await expect(page.getByTestId("file-viewer")).toBeHidden();
  await expect(shown(page)).toBeFocused();
});

test("a document without text says so beside its name and in the viewer", async ({ page, model }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  await alive(page);
  await attach(page, scannedPdf());
  await expect(ready(page)).toContainText("This file has no text that can be read.");
  model.answer(["I see only its name."]);
  await chat.ask("What is this?");
  await expect(shown(page)).toContainText("name only");
  await shown(page).click();
  const viewer = page.getByTestId("file-viewer");
  await expect(viewer).toContainText("This file has no text that can be read.");
  await expect(viewer.locator(".failure")).toHaveCount(0);
  await expect(viewer.getByTestId("next-page")).toHaveCount(0);
});

test("the page shows without a reload what the model received, also after the answer is regenerated", async ({ page, model }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  await alive(page);
  await attach(page, textFile("notes.txt", "Heron."), sidewaysPhoto());
  await expect(ready(page)).toHaveCount(2);
  model.answer(["A bird."]);
  const answer = await chat.ask("What is this?");
  await expect(shown(page).first()).toContainText(/· 1 page/);
  model.answer(["A heron."]);
  await answer.getByTestId("regenerate").click();
  await expect(chat.answers).toContainText("A heron.");
  await expect(chat.answers).toHaveAttribute("data-status", "complete");
  await expect(shown(page)).toHaveCount(2);
  await expect(shown(page).first()).toContainText(/· 1 page/);
  // An edit keeps the files of the question.
  await chat.messages.first().hover();
  await chat.messages.first().getByTestId("edit").click();
  await page.getByTestId("edit-field").fill("Which bird?");
  model.answer(["A gray heron."]);
  await page.getByTestId("edit-send").click();
  await expect(chat.answers).toContainText("A gray heron.");
  await expect(shown(page)).toHaveCount(2);
  expect(model.lastRequest()).toContain("Heron.");
});

test("the viewer says if the text of a file is not complete", async ({ page, model }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  await alive(page);
  await attach(page, textFile("long.txt", "A line of a long file.\n".repeat(250_000)), textFile("short.txt", "Short."));
  await expect(ready(page)).toHaveCount(2);
  model.answer(["Long."]);
  await chat.ask("What is this?");
  await shown(page).first().click();
  const viewer = page.getByTestId("file-viewer");
  await expect(viewer.getByTestId("text-truncated")).toBeVisible();
  await page.keyboard.press("Control+ArrowRight");
  await expect(viewer.getByTestId("text-truncated"), "a key with a modifier is the browser's").toBeVisible();
  await page.keyboard.press("ArrowRight");
  await expect(viewer.getByTestId("file-text")).toContainText("Short.");
  await expect(viewer.getByTestId("text-truncated")).toHaveCount(0);
});

test("an upload shows its progress", async ({ page }) => {
  const network = await page.context().newCDPSession(page);
  const limit = (uploadThroughput: number) =>
    network.send("Network.emulateNetworkConditions", { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput });
  await page.goto("/");
  await alive(page);
  await limit(200_000);
  await attach(page, textFile("long.txt", "x".repeat(2_000_000)));
  await expect(chips(page)).toHaveAttribute("data-state", "running");
  const bar = chips(page).locator("progress");
  await expect.poll(async () => Number(await bar.getAttribute("value"))).toBeGreaterThan(0);
  await expect(chips(page)).toContainText(/\d+ %/);
  await limit(-1);
  await expect(ready(page)).toHaveCount(1);
  await expect(bar).toHaveCount(0);
});

test("axe finds nothing in files of the message field, in messages and in the viewer", async ({ page, model, tolerated }) => {
  tolerated.push(/status of 415|Failed to load resource/);
  const chat = new ChatPage(page);
  await page.goto("/");
  await alive(page);
  await attach(page, sidewaysPhoto(), scannedPdf());
  await expect(ready(page)).toHaveCount(2);
  await attach(page, { name: "program.exe", mimeType: "application/octet-stream", buffer: Buffer.from([0x4d, 0x5a, 0, 0, 1, 2]) });
  await expect(chips(page).last()).toHaveAttribute("data-state", "failed");
  expect(await findings(page)).toEqual(NOTHING);
  await chips(page).last().getByTestId("remove-file").click();
  await attach(page, japanesePdf(2));
  await expect(ready(page)).toHaveCount(3);
  model.answer(["Files."]);
  await chat.ask("What are these?");
  expect(await findings(page)).toEqual(NOTHING);
  await shown(page).first().click();
  const viewer = page.getByTestId("file-viewer");
  await expect(viewer.locator("img")).toBeVisible();
  expect(await findings(page, "dialog.file-viewer")).toEqual(NOTHING);
  await page.keyboard.press("ArrowRight");
  await expect(viewer).toContainText("This file has no text that can be read.");
  expect(await findings(page, "dialog.file-viewer")).toEqual(NOTHING);
  await page.keyboard.press("ArrowRight");
  await expect(viewer.getByTestId("file-text")).toContainText("1ページ目");
  expect(await findings(page, "dialog.file-viewer")).toEqual(NOTHING);
});

test("a conversation with files is exported, shared and deleted", async ({ page, browser, baseURL, model }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  await alive(page);
  await attach(page, sidewaysPhoto(), japanesePdf(40));
  await expect(ready(page)).toHaveCount(2);
  model.answer(["A cat and its report."]);
  await chat.ask("What are these?");

  const menu = page.getByTestId("conversation-menu");
  await menu.click();
  const download = page.waitForEvent("download");
  await page.getByTestId("zip").click();
  const archive = await readFile(await (await download).path());
  for (const entry of ["files/01-photo.jpg", "files/02-報告書.pdf"]) expect(archive.includes(entry), entry).toBe(true);
  await page.keyboard.press("Escape");

  await menu.click();
  await page.getByTestId("menu-share").click();
  const sheet = page.getByTestId("share-sheet");
  await sheet.getByTestId("share-files").check();
  await sheet.getByTestId("make-link").click();
  const address = (await sheet.getByTestId("share").getByRole("link").getAttribute("href"))!;
  const context = await browser.newContext({ baseURL: baseURL!, javaScriptEnabled: false });
  const guest = await context.newPage();
  await guest.goto(address);
  const photo = guest.locator('img[alt="photo.jpg"]');
  await expect.poll(() => photo.evaluate((image: HTMLImageElement) => image.naturalHeight > image.naturalWidth)).toBe(true);
  await expect(guest.getByText("報告書.pdf").first()).toBeVisible();
  await page.keyboard.press("Escape");

  await menu.click();
  await page.getByTestId("menu-delete").click();
  await expect(page.getByTestId("undo")).toBeVisible();
  await expect(shown(page)).toHaveCount(0);
  expect((await guest.goto(address))!.status()).toBe(404);
  await context.close();
});

test("files are pasted and dropped, and a message can consist of them alone", async ({ page, model }) => {
  await page.goto("/");
  await alive(page);
  const field = page.getByTestId("composer");
  await transfer(field, "paste", sidewaysPhoto());
  await transfer(field, "drop", textFile("notes.txt", "The password of the day is heron."));
  await expect(ready(page)).toHaveCount(2);
  model.answer(["Seen."]);
  await page.getByTestId("send").click();
  await expect(new ChatPage(page).answers).toHaveAttribute("data-status", "complete");
  expect(model.lastRequest()).toContain("heron");
});

test("files can be dropped anywhere on the page", async ({ page, model }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  model.answer(["Here."]);
  await chat.ask("Where?");
  const answer = chat.answers.first();
  const notes = textFile("notes.txt", "Heron.");
  await transfer(answer, "dragover", notes);
  await expect(page.getByText("Drop files to attach them")).toBeVisible();
  await transfer(answer, "drop", notes);
  await expect(ready(page)).toContainText("notes.txt");
  await expect(page.getByText("Drop files to attach them")).toBeHidden();
  await transfer(page.getByTestId("sidebar"), "drop", sidewaysPhoto());
  await expect(ready(page)).toHaveCount(2);
});

test("a removed file is deleted from the server, unless a message contains it", async ({ page, model }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  await alive(page);
  await attach(page, textFile("one.txt", "Heron."), textFile("two.txt", "Stork."));
  await expect(ready(page)).toHaveCount(2);
  const deleted = page.waitForResponse((response) => response.request().method() === "DELETE");
  await page.getByRole("button", { name: "Remove two.txt" }).click();
  const response = await deleted;
  expect(response.status()).toBe(204);
  expect((await page.request.get(response.url())).status()).toBe(404);
  model.answer(["A bird."]);
  await chat.ask("Which bird?");
  await expect(shown(page)).toContainText("one.txt");
});

test("a draft with a file that is no longer on the server says which, and keeps the rest", async ({ page, model, tolerated }) => {
  tolerated.push(/status of 422/);
  const stored: string[] = [];
  page.on("response", async (response) => {
    if (response.request().method() === "POST" && response.url().includes("/api/files?")) stored.push((await response.json()).id);
  });
  await page.goto("/");
  await alive(page);
  await attach(page, textFile("old.txt", "Stork."));
  await expect(ready(page)).toHaveCount(1);
  await attach(page, textFile("new.txt", "Heron."));
  await expect(ready(page)).toHaveCount(2);
  await expect.poll(() => stored.length).toBe(2);
  expect((await page.request.delete(`/api/files/${stored[0]}`)).status()).toBe(204);
  await page.getByTestId("composer").fill("Which bird?");
  await page.getByTestId("send").click();
  await expect(chips(page).first()).toHaveAttribute("data-state", "failed");
  await expect(chips(page).first()).toContainText("old.txt");
  await expect(page.getByText("old.txt is no longer on the server.")).toBeVisible();
  await expect(page.getByTestId("composer")).toHaveValue("Which bird?");
  await page.getByRole("button", { name: "Remove old.txt" }).click();
  model.answer(["A heron."]);
  await page.getByTestId("send").click();
  await expect(new ChatPage(page).answers).toContainText("A heron.");
  expect(model.lastRequest()).toContain("Heron.");
});

test("an image of which the model received only the name says so below it", async ({ page }) => {
  const seen = { name: "seen.png", id: "00000000-0000-4000-8000-00000000f11e", context: "image 40×20" };
  const unseen = { name: "unseen.png", id: "00000000-0000-4000-8000-00000000f12e", context: "name only" };
  const image = { kind: "image", media_type: "image/png", bytes: 5, width: 40, height: 20 };
  await page.route("**/api/files/*/content?*", (route) => route.fulfill({ contentType: "image/jpeg", body: sidewaysPhoto().buffer }));
  const told = conversation("Images", [["What are these?", { content: "I see one." }]]);
  Object.assign(told.messages[0]!, { files: [seen, unseen].map((file) => ({ ...image, ...file })) });
  await open(page, told);
  await expect(shown(page)).toHaveText(["", "name only"]);
  expect(await findings(page)).toEqual(NOTHING);
});

test("a message waits for its files", async ({ page, model }) => {
  const held = gate();
  await page.route("**/api/files?*", async (route) => {
    await held.opened;
    await route.continue();
  });
  await page.goto("/");
  await alive(page);
  await attach(page, textFile("notes.txt", "Heron."));
  await page.getByTestId("composer").fill("What does it say?");
  model.answer(["Heron."]);
  await page.getByTestId("send").click();
  await expect(page.getByText("sent as soon as the files are uploaded")).toBeVisible();
  held.open();
  await expect(new ChatPage(page).answers).toHaveAttribute("data-status", "complete");
  expect(model.lastRequest()).toContain("Heron.");
});

test("a refused file says why, and a failed upload can be retried", async ({ page, tolerated }) => {
  tolerated.push(/status of 415|Failed to load resource/);
  await page.goto("/");
  await alive(page);
  await attach(page, { name: "program.exe", mimeType: "application/octet-stream", buffer: Buffer.from([0x4d, 0x5a, 0, 0, 1, 2, 3, 0]) });
  await expect(chips(page)).toHaveAttribute("data-state", "failed");
  await expect(chips(page)).toContainText("8 bytes");
  await expect(chips(page)).toContainText(/PDF/);
  await expect(chips(page).getByTestId("retry-upload")).toHaveCount(0);
  await chips(page).getByTestId("remove-file").click();
  await expect(chips(page)).toHaveCount(0);
  await expect(page.getByTestId("composer")).toBeFocused();

  let tries = 0;
  await page.route("**/api/files?*", (route) => (tries++ === 0 ? route.abort() : route.continue()));
  await attach(page, textFile("notes.txt", "Heron."));
  await expect(chips(page)).toHaveAttribute("data-state", "failed");
  await page.getByTestId("retry-upload").click();
  await expect(chips(page)).toHaveAttribute("data-state", "ready");
});

test("attached files survive a reload of the draft", async ({ page }) => {
  await page.goto("/");
  await alive(page);
  await attach(page, sidewaysPhoto());
  await expect(ready(page)).toHaveCount(1);
  await page.reload();
  await expect(ready(page)).toHaveCount(1);
  await expect(page.getByTestId("send")).toBeEnabled();
});

test("an edited message keeps the files that are not removed, and gets those that are added", async ({ page, model }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  await alive(page);
  await attach(page, textFile("one.txt", "Heron."), textFile("two.txt", "Stork."));
  await expect(ready(page)).toHaveCount(2);
  model.answer(["Two birds."]);
  await chat.ask("Which birds?");
  await chat.messages.first().hover();
  await chat.messages.first().getByTestId("edit").click();
  await page.getByRole("button", { name: "Remove two.txt" }).click();
  await expect(page.getByTestId("edit-field")).toBeFocused();
  const chosen = page.waitForEvent("filechooser");
  await page.getByTestId("edit-attach").click();
  await (await chosen).setFiles([textFile("three.txt", "Crane.")]);
  await expect(ready(page)).toHaveCount(2);
  await transfer(page.getByTestId("edit-field"), "paste", textFile("four.txt", "Ibis."));
  await transfer(page.getByTestId("edit-field"), "drop", textFile("five.txt", "Egret."));
  await expect(page.locator(".edit").getByTestId("attachment"), "they are files of the edit").toHaveCount(4);
  await expect(ready(page)).toHaveCount(4);
  expect(await findings(page)).toEqual(NOTHING);
  await page.getByTestId("edit-field").fill("Which birds are left?");
  model.answer(["Two others."]);
  await page.getByTestId("edit-send").click();
  await expect(chat.answers).toContainText("Two others.");
  await expect(shown(page)).toContainText(["one.txt", "three.txt", "four.txt", "five.txt"]);
  for (const bird of ["Heron.", "Crane.", "Ibis.", "Egret."]) expect(model.lastRequest()).toContain(bird);
  expect(model.lastRequest()).not.toContain("Stork.");
});

/** Pastes a text into the message field, as the browser does. */
const paste = (page: Page, text: string) =>
  page.getByTestId("composer").evaluate((field: HTMLTextAreaElement, text: string) => {
    const data = new DataTransfer();
    data.setData("text/plain", text);
    if (field.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }))) {
      document.execCommand("insertText", false, text);
    }
  }, text);

test("a long pasted text becomes a file if the user wants that", async ({ page, model }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  await alive(page);
  const field = page.getByTestId("composer");
  await field.fill("Summarize this: ");
  await field.press("End");
  await paste(page, "A heron swims in the river. ".repeat(200));
  await expect(page.getByTestId("paste-offer")).toBeVisible();
  expect(await findings(page)).toEqual(NOTHING);
  await page.getByTestId("attach-paste").click();
  await expect(ready(page)).toHaveCount(1);
  await expect(field).toHaveValue("Summarize this: ");
  model.answer(["It swims there."]);
  await chat.ask("Summarize this.");
  expect(model.lastRequest()).toContain("A heron swims in the river.");
});

test("only a pasted text of more than 4,000 characters is offered as a file", async ({ page }) => {
  await page.goto("/");
  await alive(page);
  const field = page.getByTestId("composer");
  const offer = page.getByTestId("paste-offer");
  await field.focus();
  // A character outside the basic plane, which a string of the browser counts twice.
  await paste(page, "𩸽".repeat(4000));
  await expect(field).toHaveValue("𩸽".repeat(4000));
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await expect(offer).toHaveCount(0);
  await field.fill("");
  await paste(page, "𩸽".repeat(4001));
  await expect(offer).toBeVisible();
});
