// Tests what the page offers if the chosen model reads no images.

import { rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { NOTHING, findings } from "../kit/axe.ts";
import { ChatPage, alive } from "../kit/chat.ts";
import { attach, sidewaysPhoto } from "../kit/files.ts";
import { expect, test } from "../kit/test.ts";

const settings = join(tmpdir(), `tallybook-file-offers-${process.pid}.toml`);

/** Both models are the built-in model under different names. */
const MODELS = [
  '[[models]]\nname = "Blind"\nprovider = "demo"\nvision = false\n',
  '[[models]]\nname = "Seeing"\nprovider = "demo"\nvision = true\n',
];

// Written at load time, because the server starts before any hook runs.
if (process.env.TEST_WORKER_INDEX !== undefined) writeFileSync(settings, MODELS.join("\n"));

test.use({ demoPaceMs: 1, settings: { CONFIG_FILE: settings } });

test.afterAll(() => rmSync(settings, { force: true }));

test("an image for a model that reads none is offered to one that does", async ({ page, request }) => {
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
  await chat.ask("What is this?");
  const stored = await (await request.get(chat.api())).json();
  expect(stored.messages.map(({ model }: { model?: string }) => model).at(-1)).toBe("Seeing");
  expect(stored.messages[0].files[0].context).toMatch(/^image \d+×\d+$/);
});
