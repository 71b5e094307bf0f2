// Tests API keys in the settings: creating one with the password and an expiry date, and revoking one or all.

import { spawn } from "node:child_process";
import { once } from "node:events";
import type { APIRequestContext, Browser, BrowserContext, Page } from "@playwright/test";
import { ADMIN, PASSWORD, expect, test } from "../kit/accounts.ts";
import { findingsInAllLooks, violations } from "../kit/axe.ts";
import { choose } from "../kit/listbox.ts";

test.use({ demoPaceMs: 0, settings: { ACCOUNTS: "on" } });

/** Opens the settings in a new browser, signed in. */
async function settings(browser: Browser, baseURL: string, name: string): Promise<[BrowserContext, Page]> {
  const context = await browser.newContext({ baseURL, serviceWorkers: "block" });
  expect((await context.request.post("/api/session", { data: { name, password: PASSWORD } })).status()).toBe(200);
  const page = await context.newPage();
  await page.goto("/settings");
  await expect(page.getByTestId("me-name")).toHaveText(name);
  return [context, page];
}

/** Sends a request with an API key, and returns the status. */
async function statusWith(request: APIRequestContext, key: string): Promise<number> {
  return (await request.get("/api/models", { headers: { authorization: `Bearer ${key}` } })).status();
}

/** Creates a key of the user whom the browser is signed in as. */
async function createKey(request: APIRequestContext, name: string): Promise<string> {
  const created = await request.post("/api/keys", { data: { name, password: PASSWORD } });
  expect(created.status()).toBe(201);
  return (await created.json()).key;
}

test("a key is created with the password, expires as chosen, and is revoked", async ({ browser, baseURL }) => {
  const [context, page] = await settings(browser, baseURL!, ADMIN);
  const section = page.getByTestId("section-keys");
  await section.getByLabel("Purpose of the key").fill("Backup");
  const lifetime = section.getByRole("combobox", { name: "Expires" });
  await choose(lifetime, "30");
  await expect(lifetime).toHaveText("In 30 days");
  await section.getByLabel("Current password").fill("not the password");
  await section.getByRole("button", { name: "Create key" }).click();
  await expect(section.getByTestId("problem")).toHaveText("The current password is wrong.");
  await expect(section.getByTestId("key"), "a wrong password creates no key").toHaveCount(0);
  await expect(section.getByTestId("key-name")).toHaveValue("Backup");

  await section.getByLabel("Current password").fill(PASSWORD);
  await section.getByRole("button", { name: "Create key" }).click();
  const secret = section.getByTestId("new-key").locator("code");
  await expect(secret).toHaveText(/^tb_\w{20,}$/);
  await expect(section.getByTestId("key-password"), "the password does not stay in the page").toHaveValue("");
  const key = (await secret.textContent())!;
  expect(await statusWith(page.request, key)).toBe(200);
  const row = section.getByTestId("key").filter({ hasText: "Backup" });
  await expect(row).toContainText("valid until");
  const { items } = await (await page.request.get("/api/keys")).json();
  const days = (Date.parse(items[0].expires_at) - Date.parse(items[0].created_at)) / 86_400_000;
  expect(Math.round(days)).toBe(30);
  expect(await findingsInAllLooks(page, "[data-testid=section-keys]", "key")).toEqual([]);

  await section.getByRole("button", { name: "Revoke: Backup" }).click();
  await expect(section).toContainText("No API keys.");
  await expect(section.getByTestId("new-key"), "the key no longer works").toHaveCount(0);
  expect(await statusWith(page.request, key)).toBe(401);
  await context.close();
});

test("a key without the password is not created", async ({ browser, baseURL }) => {
  const [context, page] = await settings(browser, baseURL!, ADMIN);
  const section = page.getByTestId("section-keys");
  await section.getByTestId("key-name").fill("Reports");
  await section.getByTestId("make-key").click();
  await expect(section.getByTestId("key-password"), "the form requires the password").toBeFocused();
  const refused = await page.request.post("/api/keys", { data: { name: "Reports" } });
  expect([refused.status(), (await refused.json()).type]).toEqual([403, "/problems/password-needed"]);
  await expect(section.getByTestId("key")).toHaveCount(0);
  await section.getByTestId("key-password").fill(PASSWORD);
  await section.getByTestId("make-key").click();
  await expect(section.getByTestId("new-key")).toBeVisible();
  const row = section.getByTestId("key").filter({ hasText: "Reports" });
  await expect(row).not.toContainText("valid until");
  await row.getByTestId("revoke-key").click();
  await expect(row).toHaveCount(0);
  await context.close();
});

test("a new password and signing out everywhere revoke all keys on request", async ({ browser, baseURL }) => {
  const [context, page] = await settings(browser, baseURL!, ADMIN);
  const change = async () => {
    await page.getByTestId("password-current").fill(PASSWORD);
    await page.getByTestId("password-new").fill(PASSWORD);
    await page.getByTestId("change-password").click();
    await expect(page.getByText("Your password is changed.")).toBeVisible();
    await expect(page.getByTestId("password-current")).toHaveValue("");
  };
  const key = await createKey(page.request, "Nightly");
  await change();
  expect(await statusWith(page.request, key), "keys stay unless the user asks to revoke them").toBe(200);
  await page.getByTestId("password-revoke-keys").check();
  await change();
  expect(await statusWith(page.request, key)).toBe(401);

  const other = await createKey(page.request, "Weekly");
  await page.getByTestId("sessions-revoke-keys").check();
  await page.getByTestId("sign-out-everywhere").click();
  await expect(page).toHaveURL(/\/sign-in/);
  expect(await statusWith(page.request, other)).toBe(401);
  await context.close();
});

test("an admin sees and revokes the keys of another user, who sees that", async ({ browser, baseURL, server }) => {
  const [office, admin] = await settings(browser, baseURL!, ADMIN);
  expect((await admin.request.post("/api/users", { data: { name: "ann", password: PASSWORD } })).status()).toBe(201);
  const [context, anns] = await settings(browser, baseURL!, "ann");
  const [key, other] = [await createKey(anns.request, "Import"), await createKey(anns.request, "Export")];

  await admin.reload();
  const user = admin.getByTestId("user").filter({ hasText: "ann" });
  const show = user.getByRole("button", { name: "API keys: ann" });
  await expect(show).toHaveAttribute("aria-expanded", "false");
  await show.click();
  await expect(show).toHaveAttribute("aria-expanded", "true");
  await expect(user.getByTestId("key")).toHaveCount(2);
  await expect(user.getByTestId("user-keys")).toContainText(key.slice(0, 6));
  await expect(user.getByText(key)).toHaveCount(0);
  await user.getByRole("button", { name: "Revoke: Import, ann" }).click();
  await expect(user.getByTestId("key")).toHaveCount(1);
  expect([await statusWith(anns.request, key), await statusWith(anns.request, other)]).toEqual([401, 200]);
  expect(await violations(admin, ["[data-testid=section-people]"])).toEqual([]);
  await user.getByRole("button", { name: "Revoke: Export, ann" }).click();
  await expect(user).toContainText("No API keys.");

  await test.step("the owner sees in the settings who changed the account", async () => {
    await admin.request.patch(`/api/users/${await idOf(admin.request, "ann")}`, { data: { password: PASSWORD } });
    await expect(anns, "a new password ends the sessions").toHaveURL(/\/sign-in/);
    await operatorSetsPassword(server.database, "ann");
    await anns.request.post("/api/session", { data: { name: "ann", password: PASSWORD } });
    await anns.goto("/settings");
    const looks = anns.getByTestId("look");
    await expect(looks).toHaveText([
      /Server operator · set a new password for your account/,
      new RegExp(`${ADMIN} · set a new password for your account`),
      new RegExp(`${ADMIN} · revoked API keys of your account`),
      new RegExp(`${ADMIN} · revoked API keys of your account`),
    ]);
    expect(await findingsInAllLooks(anns, "[data-testid=section-looks]", "looks")).toEqual([]);
  });
  await context.close();
  await office.close();
});

async function idOf(request: APIRequestContext, name: string): Promise<number> {
  const { items } = await (await request.get("/api/users")).json();
  return items.find((user: { name: string }) => user.name === name).id;
}

/** Sets a user's password as the operator does, at the command line. */
async function operatorSetsPassword(database: string, name: string): Promise<void> {
  const program = spawn(process.env.TALLYBOOK_BIN!, ["admin", "password", name, "--password-stdin"], {
    env: { PATH: process.env.PATH, DATABASE_URL: database },
    stdio: ["pipe", "ignore", "inherit"],
  });
  program.stdin.end(`${PASSWORD}\n`);
  const [code] = await once(program, "exit");
  expect(code).toBe(0);
}
