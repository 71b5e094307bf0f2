// Tests the pages of the tool history that admins read: accessible and usable at two widths, with scripts and without.

import type { APIRequestContext } from "@playwright/test";
import { violations } from "../kit/axe.ts";
import { expect, test } from "../kit/test.ts";

test.use({ demoPaceMs: 0 });

/** Lets the demo model add two numbers. Returns the id of the conversation. */
async function ask(request: APIRequestContext): Promise<string> {
  const { uuid } = await (await request.post("/api/conversations", { data: {} })).json();
  const answer = await request.post(`/api/conversations/${uuid}/messages`, { data: { content: "What is 12.5 + 7.25?" } });
  expect(await answer.text()).toContain("event: message_end");
  return uuid;
}

for (const [javaScriptEnabled, colorScheme, locale, width] of [
  [true, "light", "en-GB", 1440],
  [false, "dark", "ja-JP", 360],
] as const) {
  const scripts = javaScriptEnabled ? "with" : "without";
  test(`the tool history is accessible, ${colorScheme}, ${locale}, ${width} px, ${scripts} scripts`, async ({ browser, baseURL, request }) => {
    const uuid = await ask(request);
    const options = { baseURL, colorScheme, locale, viewport: { width, height: 800 }, serviceWorkers: "block" } as const;
    const context = await browser.newContext({ ...options, javaScriptEnabled });
    // axe needs scripts, and the content of the pages is the same with scripts and without.
    const looking = await browser.newContext(options);
    const [page, view] = [await context.newPage(), await looking.newPage()];
    const check = async () => {
      await view.goto(page.url());
      expect(await violations(view)).toEqual([]);
      expect(await view.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
    };

    await page.goto("/admin");
    await expect(page.locator("html")).toHaveAttribute("lang", locale.slice(0, 2));
    await check();
    const calls = page.getByTestId("call");
    const search = page.locator("#q");
    await search.fill(`conversation:${uuid} tool:add status:success 12.5`);
    await page.locator(".history-filter button").click();
    await expect(calls).toHaveCount(1);
    await expect(page).toHaveURL(/q=conversation%3A/);
    await expect(search).toHaveValue(`tool:add status:success conversation:${uuid} 12.5`);
    await check();
    await page.locator(".history-parts a").filter({ hasText: "status:success" }).click();
    await expect(search).toHaveValue(`tool:add conversation:${uuid} 12.5`);
    await expect(calls).toHaveCount(1);

    await calls.locator(".when a").click();
    await expect(page.locator("pre").first()).toContainText("12.5");
    await expect(page.locator(".history-timeline li")).not.toHaveCount(0);
    await check();
    await page.locator('a[href^="/admin/conversations/"]').click();
    await expect(page.locator(":target")).toContainText("add");
    await check();

    await page.goto("/admin/figures?range=24h");
    await expect(page.locator(".history-head [aria-current=page]")).toHaveAttribute("href", "/admin/figures");
    await expect(page.getByTestId("chart-calls")).toBeVisible();
    await check();

    await page.goto("/admin?q=status:denied");
    await expect(page.getByTestId("nothing")).toBeVisible();
    await page.goto("/admin?q=tol:add");
    await expect(page.getByTestId("problem")).toContainText("tol:");
    await check();
    await context.close();
    await looking.close();
  });
}
