// Tests a server without users: the form that creates the first admin, and its accessibility.

import { LOOKS, violations } from "../kit/axe.ts";
import { expect, test } from "../kit/test.ts";

test.use({ settings: { ACCOUNTS: "on" } });

test("the link that the server prints creates the first admin, once", async ({ browser, baseURL, server }) => {
  const link = await server.setupLink();
  for (const look of LOOKS) {
    const context = await browser.newContext({ baseURL: baseURL!, serviceWorkers: "block", ...look });
    const page = await context.newPage();
    await page.goto("/");
    expect(await violations(page), `before it, ${JSON.stringify(look)}`).toEqual([]);
    await page.goto(link);
    await expect(page.locator("#password")).toBeVisible();
    await expect(page.locator("html")).toHaveAttribute("lang", look.locale.slice(0, 2));
    expect(await violations(page), JSON.stringify(look)).toEqual([]);
    // The page reports an invalid name, and the form remains usable.
    await page.locator("#name").fill("<b>");
    await page.locator("#password").fill("a password of some length");
    await page.locator("[type=submit]").click();
    await expect(page.getByTestId("problem")).toBeVisible();
    expect(await violations(page), `with a problem, ${JSON.stringify(look)}`).toEqual([]);
    await context.close();
  }
  const context = await browser.newContext({ baseURL: baseURL!, javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(link);
  await page.locator("#name").fill("root");
  await page.locator("#password").fill("a password of some length");
  await page.locator("[type=submit]").click();
  await expect(page).toHaveURL(`${baseURL}/`);
  expect((await page.goto(link))!.status()).toBe(410);
  await context.close();
});
