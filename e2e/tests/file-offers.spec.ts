// Tests what the page offers if the chosen model reads no images.

import { rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { NOTHING, findings } from "../kit/axe.ts";
import { ChatPage, alive } from "../kit/chat.ts";
import { attach, sidewaysPhoto } from "../kit/files.ts";
import { expect, test } from "../kit/test.ts";

const settings = join(tmpdir(), `tallybook-file-offers-${process.pid}.toml`);

/** The built-in model reads no images. The other one is never called. */
const MODELS = ['[[models]]\nname = "Blind"\nprovider = "demo"\n', '[[models]]\nname = "Seeing"\nprovider = "ollama"\nmodel = "small"\nvision = true\n'];

// Written at load time, because the server starts before any hook runs.
if (process.env.TEST_WORKER_INDEX !== undefined) writeFileSync(settings, MODELS.join("\n"));

test.use({ demoPaceMs: 1, settings: { CONFIG_FILE: settings } });

test.afterAll(() => rmSync(settings, { force: true }));

test("an image for a model that reads none is offered to one that does", async ({ page }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  await alive(page);
  await attach(page, sidewaysPhoto());
  const notice = page.getByTestId("no-images");
  await expect(notice).toContainText("Blind");
  const offer = notice.getByTestId("use-vision-model");
  await expect(offer).toContainText("Seeing");
  expect(await findings(page)).toEqual(NOTHING);
  await offer.click();
  await expect(notice).toHaveCount(0);
  const sent = page.waitForRequest((request) => request.method() === "POST" && request.url().endsWith("/messages"));
  await chat.send("What is this?");
  expect((await sent).postDataJSON().model).toBe("Seeing");
});
