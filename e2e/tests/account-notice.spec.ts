// Tests the notice that an admin changed the account: every page begins with it until the user acknowledges it.

import type { Browser, BrowserContext, Page } from "@playwright/test";
import { ADMIN, PASSWORD, expect, test } from "../kit/accounts.ts";
import { findingsInAllLooks } from "../kit/axe.ts";
import { alive } from "../kit/chat.ts";

test.use({ demoPaceMs: 0, settings: { ACCOUNTS: "on" } });

/** Signs a user in with a new browser. */
async function signIn(browser: Browser, baseURL: string, name: string): Promise<BrowserContext> {
  const context = await browser.newContext({ baseURL, serviceWorkers: "block" });
  expect((await context.request.post("/api/session", { data: { name, password: PASSWORD } })).status()).toBe(200);
  return context;
}

/** Opens a page and waits until it is interactive. */
async function open(context: BrowserContext, path: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(path);
  await alive(page);
  return page;
}

test("an admin's change of the account is shown until its user acknowledges it", async ({ browser, baseURL }) => {
  const office = await signIn(browser, baseURL!, ADMIN);
  const made = await office.request.post("/api/users", { data: { name: "ann", password: PASSWORD } });
  const path = `/api/users/${(await made.json()).id}`;
  const before = await signIn(browser, baseURL!, "ann");
  const quiet = await open(before, "/");
  await expect(quiet.getByTestId("account-notice")).toHaveCount(0);
  expect((await before.request.post("/api/keys", { data: { name: "Import", password: PASSWORD } })).status()).toBe(201);
  const { items: keys } = await (await office.request.get(`${path}/keys`)).json();
  expect((await office.request.delete(`${path}/keys/${keys[0].id}`)).status()).toBe(204);
  expect((await office.request.patch(path, { data: { password: PASSWORD } })).status()).toBe(200);
  await before.close();

  const home = await signIn(browser, baseURL!, "ann");
  const page = await open(home, "/");
  const changes = page.getByTestId("account-change");
  const announced = [
    new RegExp(`^${ADMIN} · set a new password for your account · .+`),
    new RegExp(`^${ADMIN} · revoked API keys of your account · .+`),
  ];
  await expect(changes).toHaveText(announced);
  expect(await findingsInAllLooks(page, "[data-testid=account-notice]", "acknowledge-changes")).toEqual([]);
  await page.reload();
  await expect(changes, "a reload does not acknowledge the changes").toHaveText(announced);
  const abroad = await signIn(browser, baseURL!, "ann");
  const other = await open(abroad, "/settings");
  await expect(other.getByTestId("account-change")).toHaveText(announced);

  await test.step("the notice opens the access log, without loading the page again", async () => {
    await page.evaluate(() => document.body.setAttribute("data-stays", ""));
    await page.getByRole("link", { name: "Open the access log" }).click();
    await expect(page).toHaveURL(/\/settings#setting-looks$/);
    const heading = page.getByRole("heading", { name: "Access log" });
    await expect(heading).toBeFocused();
    await expect(heading).toBeInViewport();
    await expect(page.getByTestId("look")).toHaveCount(2);
    await expect(page.locator("body[data-stays]")).toBeAttached();
    await expect(changes, "until the user acknowledges them").toHaveCount(2);
  });

  await test.step("the access log has its own address, and Back returns from it", async () => {
    await page.goBack();
    await expect(page).toHaveURL("/");
    await page.goto("/settings#setting-looks");
    await expect(page.getByRole("heading", { name: "Access log" })).toBeFocused();
  });

  await page.getByRole("button", { name: "Got it" }).click();
  await expect(changes).toHaveCount(0);
  await page.goto("/");
  await alive(page);
  await expect(page.getByTestId("account-notice")).toHaveCount(0);
  await other.reload();
  await alive(other);
  await expect(other.getByTestId("account-notice"), "in every browser").toHaveCount(0);
  for (const context of [office, home, abroad]) await context.close();
});

test("a notice whose acknowledgment fails shows the error and stays", async ({ browser, baseURL }) => {
  const office = await signIn(browser, baseURL!, ADMIN);
  const made = await office.request.post("/api/users", { data: { name: "ben", password: PASSWORD } });
  const path = `/api/users/${(await made.json()).id}`;
  expect((await office.request.patch(path, { data: { password: PASSWORD } })).status()).toBe(200);
  const home = await signIn(browser, baseURL!, "ben");
  const page = await open(home, "/");
  await page.route("**/api/looks/seen", (route) => route.abort());
  await page.getByTestId("acknowledge-changes").click();
  await expect(page.getByTestId("account-notice").getByRole("alert")).toBeVisible();
  await expect(page.getByTestId("account-change")).toHaveCount(1);
  await page.unroute("**/api/looks/seen");
  await page.getByTestId("acknowledge-changes").click();
  await expect(page.getByTestId("account-change")).toHaveCount(0);
  for (const context of [office, home]) await context.close();
});
