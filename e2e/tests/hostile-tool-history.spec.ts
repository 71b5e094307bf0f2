// Tests that untrusted text stays text on the pages of the tool history, and on the sign-in pages, with scripts and without.

import type { Browser, Page } from "@playwright/test";
import { ADMIN, PASSWORD, expect, test } from "../kit/accounts.ts";
import { ALL, ATTACKS, LINE, watch } from "../kit/hostile.ts";

test.use({ scripted: true, settings: { ACCOUNTS: "on", SIGN_UP: "open", LLM_TITLES: "false" } });

/** Opens a page in a new browser context. Also returns the check that no attack had an effect. */
async function open(browser: Browser, baseURL: string, javaScriptEnabled: boolean): Promise<[Page, () => Promise<void>]> {
  const context = await browser.newContext({ baseURL, javaScriptEnabled, serviceWorkers: "block" });
  const page = await context.newPage();
  return [page, await watch(page)];
}

/** Signs in with the form. */
async function signIn(page: Page): Promise<void> {
  await page.getByLabel("Name").fill(ADMIN);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.locator("[type=submit]").click();
}

for (const javaScriptEnabled of [true, false]) {
  const scripts = javaScriptEnabled ? "with" : "without";

  test(`the tool history, ${scripts} scripts`, async ({ browser, baseURL, model }) => {
    const [page, harmless] = await open(browser, baseURL!, javaScriptEnabled);
    await page.goto("/sign-in?next=%2Fadmin");
    await signIn(page);
    await expect(page).toHaveURL(/\/admin$/);
    const title = LINE.slice(0, 200);
    const { uuid } = await (await page.request.post("/api/conversations", { data: { title } })).json();
    // The first call fails because of its input, which the error repeats. The second one names a tool that does not exist.
    model.answer([ALL, { tool: "add", input: JSON.stringify({ a: ALL, b: 1 }) }, { tool: ATTACKS[0]!, input: ALL }]);
    model.answer([ALL]);
    const answer = await page.request.post(`/api/conversations/${uuid}/messages`, { data: { content: ALL } });
    expect(await answer.text()).toContain("event: message_end");

    const query = `conversation:${uuid}`;
    await page.goto(`/admin?q=${encodeURIComponent(query)}`);
    const calls = page.getByTestId("call");
    await expect(calls).toHaveCount(2);
    await expect(calls.last()).toContainText(ATTACKS[0]!);
    await expect(calls.last()).toContainText(title.trim());
    await harmless();
    await page.goto(`/admin?q=${encodeURIComponent(`${query} "${ATTACKS[1]}"`)}`);
    await expect(calls).toHaveCount(2);
    await expect(page.locator("#q")).toHaveValue(new RegExp("onerror=alert"));
    await harmless();
    for (const attack of ATTACKS) {
      await page.goto(`/admin?q=${encodeURIComponent(attack)}`);
      await expect(page.locator("#q")).toHaveValue(/./);
      await harmless();
    }

    await page.goto(`/admin?q=${encodeURIComponent(`${query} tool:add`)}`);
    await calls.locator(".when a").click();
    await expect(page.locator("pre").first()).toContainText(ATTACKS[1]!);
    await harmless();
    // Re-runs the call with another hostile input.
    await page.locator("#input").fill(JSON.stringify({ a: LINE }));
    await page.locator(".history-rerun button").click();
    await expect(page.getByTestId("again").locator("pre").first()).toContainText(ATTACKS[0]!);
    await harmless();
    const call = new URL(page.url()).pathname;
    await page.goto(`${call}/playback`);
    await expect(page.getByTestId("playback-place")).toBeVisible();
    await harmless();
    await page.goto(`/admin/conversations/${uuid}`);
    await expect(page.getByRole("heading", { level: 1 })).toHaveText(title.trim());
    await expect(page.locator("main .text").first()).toContainText(ATTACKS[3]!);
    await expect(page).toHaveTitle(`${title.trim()} · Tallybook`);
    const active = page.locator("main :is(script, iframe, img, object, embed, style)");
    await expect(active).toHaveCount(0);
    await page.goto("/admin/figures?range=24h");
    await expect(page.getByTestId("chart-calls")).toBeVisible();
    await harmless();
    await page.context().close();
  });

  test(`texts of other users, and the reason for access, ${scripts} scripts`, async ({ browser, baseURL, model }) => {
    const [page, harmless] = await open(browser, baseURL!, javaScriptEnabled);
    await page.goto("/sign-in?next=%2Fadmin");
    await signIn(page);
    await expect(page).toHaveURL(/\/admin$/);
    // User names allow only letters, digits and some punctuation, so the server accepts no attack as a name.
    for (const attack of ATTACKS) {
      const made = await page.request.post("/api/users", { data: { name: attack.slice(0, 64), password: PASSWORD } });
      expect(made.status(), attack).toBe(422);
    }
    const name = `ann-${scripts}`;
    await page.request.post("/api/users", { data: { name, password: PASSWORD } });
    const [own, unharmed] = await open(browser, baseURL!, true);
    await own.request.post("/api/session", { data: { name, password: PASSWORD } });
    const { uuid } = await (await own.request.post("/api/conversations", { data: { title: LINE.slice(0, 200) } })).json();
    model.answer([ALL, { tool: ATTACKS[0]!, input: ALL }]);
    model.answer([ALL]);
    const answer = await own.request.post(`/api/conversations/${uuid}/messages`, { data: { content: ALL } });
    expect(await answer.text()).toContain("event: message_end");

    await page.goto(`/admin?q=user:${name}`);
    const calls = page.getByTestId("call");
    await expect(calls).toHaveCount(1);
    await expect(calls.locator(".tool")).toContainText(ATTACKS[0]!);
    await harmless();
    await calls.locator(".when a").click();
    const reason = LINE.slice(0, 500).trim();
    await page.locator("#reason").fill(reason);
    await harmless();
    await page.locator(".history-reason button").click();
    await expect(page.locator("pre").first()).toContainText(ATTACKS[1]!);
    await harmless();
    const call = new URL(page.url()).pathname;
    await page.goto(`${call}/playback?at=60000`);
    await expect(page.getByTestId("played")).toContainText(ATTACKS[1]!);
    await harmless();
    await page.goto(`/admin/conversations/${uuid}`);
    await expect(page.getByRole("heading", { level: 1 })).toHaveText(LINE.slice(0, 200).trim());

    await own.goto("/settings");
    await expect(own.getByTestId("look").first()).toContainText(reason);
    await unharmed();
    await own.request.delete(`/api/conversations/${uuid}`);
    await page.goto(call);
    await expect(page.getByTestId("deleted")).toBeVisible();
    await harmless();
    await own.context().close();
    await page.context().close();
  });

  test(`the sign-in pages, ${scripts} scripts`, async ({ browser, baseURL }) => {
    const [page, harmless] = await open(browser, baseURL!, javaScriptEnabled);
    for (const attack of ATTACKS) {
      const encoded = encodeURIComponent(attack);
      for (const path of [`/sign-in?next=${encoded}`, `/setup?token=${encoded}`, `/invitation?token=${encoded}`, `/sign-in?next=/${encoded}`]) {
        await page.goto(path);
        await expect(page.locator("main.account")).toBeVisible();
        await harmless();
      }
    }
    // Only two attacks, because the server slows down an address with many failed sign-ins.
    for (const attack of [ATTACKS[1]!, ATTACKS[3]!]) {
      await page.goto("/sign-in");
      await page.getByLabel("Name").fill(attack.slice(0, 64));
      await page.getByLabel("Password").fill(attack);
      await page.locator("[type=submit]").click();
      await expect(page.getByTestId("problem")).toBeVisible();
      await expect(page.getByLabel("Name")).toHaveValue(attack.slice(0, 64));
      await harmless();
    }
    await page.goto("/invitation");
    await page.getByLabel("Name").fill(ATTACKS[1]!);
    await page.getByLabel("Password").fill(PASSWORD);
    await page.locator("[type=submit]").click();
    await expect(page.getByTestId("problem")).toBeVisible();
    await harmless();
    await page.context().close();
  });
}
