// Tests files of signed-in users.

import { ADMIN, PASSWORD, expect, test } from "../kit/accounts.ts";
import { ChatPage, alive } from "../kit/chat.ts";
import { attach, sidewaysPhoto, textFile } from "../kit/files.ts";

test.use({ settings: { ACCOUNTS: "on", LLM_TITLES: "false" }, scripted: true });

test("a signed-in user attaches files and asks about them, and another user cannot open them", async ({ page, model, playwright, baseURL }) => {
  await page.request.post("/api/session", { data: { name: ADMIN, password: PASSWORD } });
  await page.request.post("/api/users", { data: { name: "ann", password: PASSWORD } });
  await page.goto("/");
  await alive(page);
  await attach(page, textFile("notes.txt", "Heron."), sidewaysPhoto());
  await expect(page.locator('[data-testid="attachment"][data-state="ready"]')).toHaveCount(2);
  model.answer(["A heron."]);
  const chat = new ChatPage(page);
  await chat.ask("Which bird?");
  expect(model.lastRequest()).toContain("Heron.");
  const image = page.locator('img[alt="photo.jpg"]');
  await expect.poll(() => image.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBeGreaterThan(0);
  await page.reload();
  await expect(page.getByTestId("message-file")).toHaveCount(2);

  const address = (await image.getAttribute("src"))!;
  const ann = await playwright.request.newContext({ baseURL });
  await ann.post("/api/session", { data: { name: "ann", password: PASSWORD } });
  expect((await ann.get("/api/models")).status(), "the session works").toBe(200);
  expect((await ann.get(address)).status()).toBe(404);
  await ann.dispose();
});
