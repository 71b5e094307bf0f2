// Tests what the settings show users about their data: which admins opened it and why, and which links share it. Also tests the
// deletion of an account.

import type { Page } from "@playwright/test";
import { ADMIN, PASSWORD, expect, test } from "../kit/accounts.ts";
import { findingsInAllLooks } from "../kit/axe.ts";

test.use({ demoPaceMs: 0, settings: { ACCOUNTS: "on" } });

/** Signs in with the form, which then leads to `next`. */
async function signIn(page: Page, name: string, next: string): Promise<void> {
  await page.goto(`/sign-in?next=${encodeURIComponent(next)}`);
  await page.locator("#name").fill(name);
  await page.locator("#password").fill(PASSWORD);
  await page.locator("[type=submit]").click();
}

test("the settings list admin access and shared links, and deleting the account ends both", async ({ browser, baseURL }) => {
  const office = await browser.newContext({ baseURL: baseURL!, serviceWorkers: "block" });
  const page = await office.newPage();
  await signIn(page, ADMIN, "/admin");
  await expect(page).toHaveURL(/\/admin$/);
  await page.request.post("/api/users", { data: { name: "ann", password: PASSWORD } });
  const context = await browser.newContext({ baseURL: baseURL!, serviceWorkers: "block" });
  const anns = await context.newPage();
  await signIn(anns, "ann", "/settings");
  await expect(anns.getByTestId("me-name")).toHaveText("ann");
  const { uuid } = await (await anns.request.post("/api/conversations", { data: { title: "Sums" } })).json();
  const answer = await anns.request.post(`/api/conversations/${uuid}/messages`, { data: { content: "What is 12.5 + 7.25?" } });
  expect(await answer.text()).toContain("event: message_end");
  const shared = await anns.request.post(`/api/conversations/${uuid}/shares`, { data: { tool_calls: true } });
  expect(shared.status()).toBe(201);

  await page.reload();
  await page.getByTestId("call").locator(".when a").click();
  await page.locator("#reason").fill("ann asked for help");
  await page.locator(".history-reason button").click();
  await expect(page.locator(".history-facts")).toContainText("ann");

  await anns.reload();
  const look = anns.getByTestId("look");
  await expect(look).toHaveCount(1);
  await expect(look).toContainText(ADMIN);
  await expect(look).toContainText("ann asked for help");
  const link = anns.getByTestId("my-share").getByRole("link", { name: "Sums" });
  await expect(link).toBeVisible();
  for (const there of ["look", "my-share"]) expect(await findingsInAllLooks(anns, "main", there)).toEqual([]);
  const address = (await link.getAttribute("href"))!;
  expect((await page.request.get(address)).status()).toBe(200);
  await anns.getByTestId("take-back").click();
  await expect(anns.getByTestId("my-share")).toHaveCount(0);
  expect((await page.request.get(address)).status()).toBe(404);

  await anns.goto("/admin");
  await expect(anns.getByRole("heading", { name: "Admins only" })).toBeVisible();
  expect(await findingsInAllLooks(anns, "main", "sign-in-away")).toEqual([]);
  await anns.getByRole("link", { name: "Back to chat" }).click();
  await expect(anns).toHaveURL(baseURL + "/");
  await anns.goto("/settings");

  await anns.getByTestId("open-delete-account").click();
  await anns.locator("#delete-password").fill(PASSWORD);
  await anns.getByTestId("delete-account").click();
  await expect(anns).toHaveURL(/\/sign-in/);
  await signIn(anns, "ann", "/");
  await expect(anns.getByTestId("problem")).toHaveText("The name or the password is wrong.");
  // Admins still see the deleted data in the tool history until it is purged.
  await page.goto("/admin");
  await expect(page.getByTestId("call")).toContainText("deleted");
  await context.close();
  await office.close();
});
