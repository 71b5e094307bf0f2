// Tests the settings of a server with accounts.

import type { Browser, BrowserContext, Page } from "@playwright/test";
import { ADMIN, PASSWORD, expect, test } from "../kit/accounts.ts";
import { NOTHING, findings } from "../kit/axe.ts";
import { ChatPage, alive } from "../kit/chat.ts";

test.use({ settings: { ACCOUNTS: "on", MAX_TURNS_PER_PERSON: "1", DEMO_PACE_MS: "500" } });

/** Opens the settings in a new browser context, signed in as the admin. */
async function signedIn(browser: Browser, baseURL: string, options = {}): Promise<[BrowserContext, Page]> {
  const context = await browser.newContext({ baseURL, serviceWorkers: "block", ...options });
  const page = await context.newPage();
  await page.goto("/sign-in?next=/settings");
  await page.locator("#name").fill(ADMIN);
  await page.locator("#password").fill(PASSWORD);
  await page.locator("[type=submit]").click();
  await expect(page.getByTestId("instructions")).toBeVisible();
  return [context, page];
}

test("settings are saved, and an API key is shown only once", async ({ browser, baseURL }) => {
  const [context, page] = await signedIn(browser, baseURL!);
  await expect(page).toHaveTitle("Settings · Tallybook");
  await expect(page.getByTestId("me-name")).toHaveText(ADMIN);
  const save = page.getByTestId("save-instructions");
  await expect(save).toHaveAttribute("aria-disabled", "true");
  await page.getByTestId("instructions").fill("Answer in rhymes.");
  await save.click();
  await expect(page.getByText("Saved.")).toBeVisible();

  await page.getByTestId("key-name").fill("Backup");
  await page.getByTestId("key-password").fill(PASSWORD);
  await page.getByTestId("make-key").click();
  const shown = page.getByTestId("new-key").locator("code");
  await expect(shown).toHaveText(/^tb_\w{20,}$/);
  const key = (await shown.textContent())!;
  const headers = { authorization: `Bearer ${key}` };
  expect((await page.request.get("/api/models", { headers })).status()).toBe(200);
  await page.reload();
  await expect(page.getByTestId("instructions")).toHaveValue("Answer in rhymes.");
  // The list may also contain keys of other tests.
  const row = page.getByTestId("key").filter({ hasText: "Backup" });
  await expect(row).toContainText(key.slice(0, 6));
  await expect(page.getByText(key)).toHaveCount(0);
  await row.getByTestId("revoke-key").click();
  await expect(row).toHaveCount(0);
  expect((await page.request.get("/api/models", { headers })).status()).toBe(401);

  const download = page.waitForEvent("download");
  await page.getByTestId("export-all").click();
  expect((await download).suggestedFilename()).toBe("Tallybook-root.jsonl");
  await context.close();
});

test("a new password, and signing out elsewhere", async ({ browser, baseURL }) => {
  const [context, page] = await signedIn(browser, baseURL!);
  const [elsewhere, other] = await signedIn(browser, baseURL!);
  await page.reload();
  await expect(page.getByTestId("session").filter({ hasText: "This browser" })).toHaveCount(1);
  const sessions = await page.getByTestId("session").count();
  await page.getByTestId("end-session").first().click();
  await expect(page.getByTestId("session")).toHaveCount(sessions - 1);
  await expect(other).toHaveURL(/\/sign-in/);

  await page.getByTestId("password-current").fill("not the password");
  await page.getByTestId("password-new").fill("another one of some length");
  await page.getByTestId("change-password").click();
  await expect(page.getByTestId("problem")).toHaveText("The current password is wrong.");
  await page.getByTestId("password-current").fill(PASSWORD);
  // The new password is the old one, because the other tests use it.
  await page.getByTestId("password-new").fill(PASSWORD);
  const toggle = page.getByTestId("show-password-new");
  await toggle.click();
  await expect(page.getByTestId("password-new")).toHaveAttribute("type", "text");
  await expect(page.getByTestId("password-new")).toHaveAttribute("autocomplete", "new-password");
  await expect(page.getByTestId("password-current"), "each field has its own button").toHaveAttribute("type", "password");
  await expect(toggle).toHaveText("Hide password");
  await toggle.press("Enter");
  await expect(page.getByTestId("password-new")).toHaveAttribute("type", "password");
  await expect(page.getByTestId("password-new")).toHaveValue(PASSWORD);
  await page.getByTestId("change-password").click();
  await expect(page.getByText("Your password is changed. Your other browsers are signed out.")).toBeVisible();
  await expect(page.getByTestId("password-new")).toHaveValue("");

  await page.getByTestId("open-delete-account").click();
  await expect(page.getByTestId("delete-password")).toBeFocused();
  await page.keyboard.type(PASSWORD);
  await page.keyboard.press("Enter");
  await expect(page.getByTestId("problem")).toHaveText("This is the only admin. Make another user an admin first.");
  await context.close();
  await elsewhere.close();
});

test("a user at the limit of concurrent answers sees what to do", async ({ browser, baseURL }) => {
  const [context, page] = await signedIn(browser, baseURL!);
  await expect(page.getByTestId("allowance").first()).toHaveText(/Simultaneous answers\s*1 of 1 left/);
  const second = await context.newPage();
  await second.goto("/");
  await alive(second);
  await second.getByTestId("composer").fill("What is 1 + 2?");
  await page.getByTestId("new-chat").click();
  await new ChatPage(page).send("Multiply 123456789012345678901234567890 by 987654321");
  await expect(page.getByTestId("stop")).toBeVisible();
  await second.getByTestId("send").click();
  await expect(second.getByTestId("notice")).toContainText("Wait for one of them to end, or stop it");
  await expect(second.getByTestId("composer")).toHaveValue("What is 1 + 2?");
  await page.getByTestId("stop").click();
  await expect(page.getByTestId("stop")).toHaveCount(0);
  await second.getByTestId("send").click();
  await expect(new ChatPage(second).answers).toHaveAttribute("data-status", "complete");
  await second.goto("/settings");
  await expect(second.getByTestId("usage-row").first()).toHaveText(/^Answers\s*\d+ calls · [\d,]+ tokens in · \d+ out$/);
  await context.close();
});

for (const [locale, width, words] of [
  ["en-GB", 1280, "Signed-in browsers"],
  ["ja-JP", 360, "サインイン中のブラウザー"],
] as const) {
  test(`the settings are accessible, ${locale}, ${width} pixels wide`, async ({ browser, baseURL }) => {
    const [context, page] = await signedIn(browser, baseURL!, { locale, viewport: { width, height: 640 } });
    await expect(page.getByRole("heading", { name: words })).toBeVisible();
    await page.getByTestId("key-name").fill("長".repeat(64));
    await page.getByTestId("key-password").fill(PASSWORD);
    // What appears moves everything below, also between the press and the release of a button.
    await page.getByTestId("make-key").click();
    await expect(page.getByTestId("new-key")).toBeVisible();
    await page.getByTestId("invite").click();
    await expect(page.getByTestId("invitation")).toBeVisible();
    await page.getByTestId("open-delete-account").click();
    await expect(page.getByTestId("key").first()).toBeVisible();
    expect(await findings(page)).toEqual(NOTHING);
    const sizes = await page.getByTestId("settings").evaluate((area) => [area.scrollWidth, area.clientWidth]);
    expect(sizes[0], "nothing is wider than the page").toBe(sizes[1]);
    await context.close();
  });
}
