// Tests that an admin connects a model in the page when accounts are on, for all users, and that only admins can.

import { ADMIN, PASSWORD, expect, test } from "../kit/accounts.ts";
import { ChatPage, alive } from "../kit/chat.ts";
import { expectChosen } from "../kit/listbox.ts";
import { startModel } from "../kit/model.ts";

// On a database server, API keys can only be stored with a secret key.
const SECRET_KEY = "0123456789abcdef".repeat(2);

test.use({ settings: { ACCOUNTS: "on", LLM_TITLES: "false", SECRET_KEY }, demoPaceMs: 0 });

const KEY = "sk-admin-5up3r";

test("an admin connects a model, and other users can choose it at once", async ({ browser, baseURL }) => {
  const provider = await startModel({ key: KEY, offers: [{ id: "maker/large", display_name: "Large" }] });
  const options = { baseURL, serviceWorkers: "block" } as const;
  const [admins, users] = [await browser.newContext(options), await browser.newContext(options)];
  await admins.request.post("/api/session", { data: { name: ADMIN, password: PASSWORD } });
  await admins.request.post("/api/users", { data: { name: "ann", password: PASSWORD } });
  await users.request.post("/api/session", { data: { name: "ann", password: PASSWORD } });
  const [page, anns] = [await admins.newPage(), await users.newPage()];

  await anns.goto("/");
  await alive(anns);
  await expect(anns.getByTestId("demo-notice")).toContainText("Ask an admin to connect another model.");
  await expect(anns.getByTestId("connect-model")).toHaveCount(0);

  await page.goto("/");
  await alive(page);
  await page.getByTestId("connect-model").click();
  await page.getByTestId("provider-compatible").check();
  await page.getByTestId("setup-address").fill(provider.url);
  await page.getByTestId("setup-secret").fill(KEY);
  await page.getByTestId("find-models").click();
  await page.getByTestId("setup-dialog").getByRole("option", { name: "Large" }).click();
  await page.getByTestId("save-setup").click();
  await expectChosen(page.getByTestId("model"), "Large");

  await anns.reload();
  await alive(anns);
  await expectChosen(anns.getByTestId("model"), "Large", "the new default");
  provider.answer(["Greetings from Large."]);
  await expect(await new ChatPage(anns).ask("Who are you?")).toContainText("Greetings from Large.");
  await anns.goto("/settings");
  await expect(anns.getByTestId("section-models")).toHaveCount(0);
  expect((await users.request.get("/api/admin/models")).status()).toBe(403);
  for (const context of [admins, users]) await context.close();
  await provider.stop();
});
