// Tests the page on which admins change the settings of the server: accessible at two widths, with scripts and without;
// changes, refusals, defaults and the history.

import { violations } from "../kit/axe.ts";
import { expect, test } from "../kit/test.ts";

test.use({ demoPaceMs: 0 });

for (const [javaScriptEnabled, colorScheme, locale, width] of [
  [true, "light", "en-GB", 1440],
  [false, "dark", "ja-JP", 360],
] as const) {
  const scripts = javaScriptEnabled ? "with" : "without";
  test(`settings are changed and restored, ${colorScheme}, ${locale}, ${width} px, ${scripts} scripts`, async ({ browser, baseURL, request }) => {
    const options = { baseURL, colorScheme, locale, viewport: { width, height: 800 }, serviceWorkers: "block" } as const;
    const context = await browser.newContext({ ...options, javaScriptEnabled });
    // axe needs scripts, and the content of the page is the same with scripts and without.
    const looking = await browser.newContext(options);
    const [page, view] = [await context.newPage(), await looking.newPage()];
    const check = async () => {
      await view.goto("/admin/settings");
      expect(await violations(view)).toEqual([]);
      expect(await view.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
    };
    const settings = async () => (await (await request.get("/api/admin/settings")).json()).settings;

    await page.goto("/admin");
    await page.locator('nav a[href="/admin/settings"]').click();
    await check();
    const save = page.getByTestId("save-settings");
    const [instructions, days] = [page.locator("#instructions"), page.locator("#retention_days")];
    const entered = `Prices are in <euros>, at ${width} px.\nAnswer briefly.`;
    await instructions.fill(entered);
    await days.fill("90");
    await page.locator("#llm_titles").setChecked(false);
    await save.click();
    await expect(page.getByTestId("saved")).toBeVisible();
    await expect(instructions).toHaveValue(entered);
    expect(await settings()).toMatchObject({ instructions: entered, retention_days: 90, llm_titles: false });
    const changes = page.getByTestId("settings-change");
    await expect(changes.first()).toContainText("90");
    await check();

    // A refused change keeps what was entered.
    await days.fill("99999");
    await save.click();
    const refused = page.getByTestId("problem");
    await expect(refused).toContainText(locale === "ja-JP" ? "0から36500までの値を入力してください。" : "must be from 0 to 36500.");
    await expect(refused.locator("span[lang=en]")).toHaveCount(0);
    await expect(days).toHaveValue("99999");
    await days.fill("14");
    await page.keyboard.press("Enter");
    await expect(page.getByTestId("saved")).toBeVisible();
    expect(await settings()).toMatchObject({ retention_days: 14, instructions: entered });

    await changes.nth(1).getByRole("button").click();
    await expect(page.getByTestId("saved")).toBeVisible();
    await expect(days).toHaveValue("90");
    for (const name of ["instructions", "retention_days", "llm_titles"]) {
      await page.locator(`button[name="default"][value="${name}"]`).click();
      await expect(page.getByTestId("saved")).toBeVisible();
    }
    await expect(instructions).toHaveValue("");
    await expect(page.locator('button[name="default"]')).toHaveCount(0);
    await context.close();
    await looking.close();
  });
}

test("the settings of the page lead to those of the server", async ({ page }) => {
  await page.goto("/settings");
  await page.getByTestId("open-server-settings").click();
  await expect(page).toHaveURL(/\/admin\/settings$/);
});
