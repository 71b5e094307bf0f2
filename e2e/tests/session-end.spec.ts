// Tests a session that ends while an answer is written.

import { ADMIN, PASSWORD, expect, test } from "../kit/accounts.ts";
import { ChatPage, alive } from "../kit/chat.ts";
import { gate } from "../kit/model.ts";

test.use({ settings: { ACCOUNTS: "on", LLM_TITLES: "false" }, scripted: true });
// The page receives a 401 when the session has ended, and the browser logs it to the console.
test.use({ tolerated: [/status of 401/] });

test("a session that ends during an answer is one notice, and the answer is there after signing in", async ({ page, model, playwright, baseURL }) => {
  await page.request.post("/api/session", { data: { name: ADMIN, password: PASSWORD } });
  await page.goto("/");
  await alive(page);
  const held = gate();
  model.answer(
    (async function* () {
      yield "A heron ";
      await held.opened;
      yield "wades.";
    })(),
  );
  const chat = new ChatPage(page);
  await chat.send("Which bird?");
  await expect(page.locator("article").last()).toContainText("A heron");
  await page.getByTestId("composer").fill("And at night?");
  const elsewhere = await playwright.request.newContext({ baseURL });
  await elsewhere.post("/api/session", { data: { name: ADMIN, password: PASSWORD } });
  const refused = page.waitForResponse((response) => response.status() === 401 && /\/api\/conversations\//.test(response.url()));
  await elsewhere.delete("/api/sessions");
  await refused;
  await expect(page.getByTestId("signed-out")).toBeVisible();
  await expect(page.getByTestId("retry-now")).toHaveCount(0);
  await expect(page.locator(".connection-countdown")).toBeEmpty();
  held.open();
  await page.getByTestId("sign-in-again").click();
  await page.getByLabel("Name").fill(ADMIN);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.locator("[type=submit]").click();
  await expect(page.locator("article").last()).toContainText("A heron wades.");
  await expect(page.getByTestId("composer")).toHaveValue("And at night?");
  await elsewhere.dispose();
});
