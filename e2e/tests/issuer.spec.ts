// Signing in by an issuer of OpenID Connect: linked in the settings, and from then on without a password and without scripts.

import { ADMIN, PASSWORD, expect, test as base } from "../kit/accounts.ts";
import { findingsInAllLooks } from "../kit/axe.ts";
import { startIssuer } from "../kit/issuer.ts";

const test = base.extend({
  settings: [
    async ({}, use) => {
      const issuer = await startIssuer("root-over-there");
      await use(issuer.settings);
      issuer.stop();
    },
    { scope: "worker" },
  ],
});

// The wrong password is refused.
test.use({ tolerated: [/status of 403 .*\/api\/identities/] });

test("whoever links an identity signs in by it, without scripts, until it is unlinked", async ({ page, browser, baseURL }) => {
  await page.goto("/settings");
  await page.getByLabel("Name").fill(ADMIN);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button").click();
  const section = page.getByTestId("section-identities");
  await expect(section).toContainText("Nothing is linked.");
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
  await expect(section).toContainText("Nothing is linked.");
  const other = await browser.newContext({ baseURL, javaScriptEnabled: false });
  const stranger = await other.newPage();
  await stranger.goto("/sign-in");
  await stranger.getByRole("link", { name: "Sign in with Example ID" }).click();
  await expect(stranger.getByTestId("problem")).toContainText("No account here belongs to you");
  await other.close();
});
