// Tests open invitations in the settings of an admin: they are listed until they are used, and can be revoked.

import { ADMIN, PASSWORD, expect, test } from "../kit/accounts.ts";
import { findingsInAllLooks } from "../kit/axe.ts";

test.use({ demoPaceMs: 0, settings: { ACCOUNTS: "on" } });

test("open invitations are listed without their links, and a revoked invitation does not work", async ({ browser, baseURL }) => {
  const context = await browser.newContext({ baseURL: baseURL!, serviceWorkers: "block" });
  const page = await context.newPage();
  expect((await page.request.post("/api/session", { data: { name: ADMIN, password: PASSWORD } })).status()).toBe(200);
  await page.goto("/settings");
  const open = page.getByTestId("open-invitation");
  await expect(page.getByTestId("invitations")).toBeAttached();
  await expect(open).toHaveCount(0);
  await page.getByTestId("invite").click();
  const link = (await page.getByTestId("invitation").locator("code").textContent())!;
  expect(link).toMatch(new RegExp(`^${baseURL}/invitation\\?token=`));
  await expect(open).toHaveCount(1);
  await expect(open).toContainText(ADMIN);
  await expect(open).toContainText("valid until");
  const used = await (await page.request.post("/api/invitations", { data: { role: "admin" } })).json();

  await page.reload();
  await expect(open).toHaveCount(2);
  await expect(page.getByTestId("invitation"), "a link is shown once").toHaveCount(0);
  expect(await page.content()).not.toContain(new URL(link).searchParams.get("token")!);
  expect(await findingsInAllLooks(page, "[data-testid=section-people]", "invitations")).toEqual([]);

  const elsewhere = await browser.newContext({ baseURL: baseURL!, serviceWorkers: "block" });
  const guest = await elsewhere.newPage();
  await guest.goto(used.url);
  await guest.locator("#name").fill("guest");
  await guest.locator("#password").fill(PASSWORD);
  await guest.locator("[type=submit]").click();
  await expect(guest.getByTestId("person")).toContainText("guest");
  await page.reload();
  await expect(open, "the used invitation is gone").toHaveCount(1);

  await open.getByRole("button", { name: `Revoke: Unused invitation, ${ADMIN}` }).click();
  await expect(open).toHaveCount(0);
  const away = await browser.newContext({ baseURL: baseURL!, serviceWorkers: "block" });
  const visitor = await away.newPage();
  expect((await visitor.goto(link))!.status()).toBe(410);
  await expect(visitor.locator("#password")).toHaveCount(0);
  await away.close();
  await elsewhere.close();
  await context.close();
});

test("revoking a new invitation hides its link", async ({ browser, baseURL }) => {
  const context = await browser.newContext({ baseURL: baseURL!, serviceWorkers: "block" });
  const page = await context.newPage();
  await page.request.post("/api/session", { data: { name: ADMIN, password: PASSWORD } });
  await page.goto("/settings");
  await page.getByTestId("invite").click();
  await expect(page.getByTestId("invitation")).toBeVisible();
  await page.getByTestId("revoke-invitation").first().click();
  await expect(page.getByTestId("invitation")).toHaveCount(0);
  await context.close();
});
