// Tests an OpenID Connect provider: the user links it in the settings, and then signs in without a password and without scripts.

import { ADMIN, PASSWORD, expect, test as base } from "../kit/accounts.ts";
import { findingsInAllLooks } from "../kit/axe.ts";
import { startIdentityProvider } from "../kit/identity-provider.ts";

const test = base.extend({
  settings: [
    async ({}, use) => {
      const provider = await startIdentityProvider("root-over-there");
      await use(provider.settings);
      provider.stop();
    },
    { scope: "worker" },
  ],
});

// The server refuses the wrong password, and the browser logs that.
test.use({ tolerated: [/status of 403 .*\/api\/identities/] });

test("a user with a linked identity signs in with it, without scripts, until it is unlinked", async ({ page, browser, baseURL }) => {
  await page.goto("/settings");
  await page.getByLabel("Name").fill(ADMIN);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.locator("[type=submit]").click();
  const section = page.getByTestId("section-identities");
  await expect(section).toContainText("No linked accounts.");
  const link = section.getByRole("button", { name: "Link Example ID" });
  await section.getByLabel("Current password").fill("not the password");
  await link.click();
  await expect(section).toContainText("The current password is wrong.");
  await section.getByLabel("Current password").fill(PASSWORD);
  await link.click();
  await expect(page).toHaveURL(/\/settings$/);
  await expect(section.getByTestId("identity")).toContainText("root-over-there");
  expect(await findingsInAllLooks(page, "[data-testid=section-identities]", "identity")).toEqual([]);

  const context = await browser.newContext({ baseURL, javaScriptEnabled: false, locale: "ja" });
  const plain = await context.newPage();
  await plain.goto("/settings");
  await plain.getByRole("link", { name: "Example IDでサインイン" }).click();
  await expect(plain).toHaveURL(/\/settings$/);
  await context.close();

  await section.getByTestId("unlink-identity").click();
  await expect(section).toContainText("No linked accounts.");
  const other = await browser.newContext({ baseURL, javaScriptEnabled: false });
  const visitor = await other.newPage();
  await visitor.goto("/sign-in");
  await visitor.getByRole("link", { name: "Sign in with Example ID" }).click();
  await expect(visitor.getByTestId("problem")).toContainText("No account is linked to your identity");
  await other.close();
});

test("a user without a password is asked for none, and can delete the account", async ({ browser, baseURL }) => {
  const admin = await browser.newContext({ baseURL });
  await admin.request.post("/api/session", { data: { name: ADMIN, password: PASSWORD } });
  const { url } = await (await admin.request.post("/api/invitations", { data: {} })).json();
  const context = await browser.newContext({ baseURL, serviceWorkers: "block" });
  const page = await context.newPage();
  await page.goto(url);
  await page.getByTestId("sign-in-away").click();
  await expect(page.getByTestId("person")).toContainText("root-over-there");
  await page.goto("/settings");
  await expect(page.getByTestId("no-password")).toContainText("Your account has no password.");
  await page.getByTestId("open-delete-account").click();
  await expect(page.getByRole("button", { name: "Cancel" })).toBeFocused();
  await expect(page.locator("input[type=password]")).toHaveCount(0);
  expect(await findingsInAllLooks(page, "[data-testid=section-delete]", "no-password")).toEqual([]);
  await page.getByTestId("delete-account").click();
  await expect(page).toHaveURL(/\/sign-in\?next=/);
  await expect(page.getByTestId("problem")).toHaveCount(0);
  const { items } = await (await admin.request.get("/api/users")).json();
  const user = items.find(({ name }: { name: string }) => name === "root-over-there");
  expect(user.deleted_at).toBeTruthy();
  await context.close();
  await admin.close();
});

test("the owner of an identity sees which admin unlinked it", async ({ browser, baseURL }) => {
  const signIn = async (name: string) => {
    const context = await browser.newContext({ baseURL, serviceWorkers: "block" });
    expect((await context.request.post("/api/session", { data: { name, password: PASSWORD } })).status()).toBe(200);
    return context;
  };
  const home = await signIn(ADMIN);
  expect((await home.request.post("/api/users", { data: { name: "ben", password: PASSWORD, role: "admin" } })).status()).toBe(201);
  const page = await home.newPage();
  await page.goto("/settings");
  const section = page.getByTestId("section-identities");
  await section.getByLabel("Current password").fill(PASSWORD);
  await section.getByTestId("link-identity").click();
  await expect(section.getByTestId("identity")).toContainText("root-over-there");
  // prose-ok: a text of the page
  await expect(page.getByTestId("section-looks"), "the log has only changes by others").toContainText("No access recorded.");

  const office = await signIn("ben");
  const { items: users } = await (await office.request.get("/api/users")).json();
  const path = `/api/users/${users.find((user: { name: string }) => user.name === ADMIN).id}/identities`;
  const { items: identities } = await (await office.request.get(path)).json();
  expect((await office.request.delete(`${path}/${identities[0].id}`)).status()).toBe(204);
  await expect(page, "sessions that may have started with it end").toHaveURL(/\/sign-in/);
  await home.request.post("/api/session", { data: { name: ADMIN, password: PASSWORD } });
  await page.goto("/settings");
  await expect(section).toContainText("No linked accounts.");
  await expect(page.getByTestId("look")).toHaveText([/ben · unlinked an external account from yours/]);
  await office.close();
  await home.close();
});
