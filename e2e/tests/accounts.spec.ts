// Tests a server with accounts: signing in, and two users of whom each sees only their own conversations.

import type { Browser, BrowserContext, Page } from "@playwright/test";
import { ADMIN, PASSWORD, expect, test } from "../kit/accounts.ts";
import { NOTHING, findings } from "../kit/axe.ts";
import { ChatPage, alive } from "../kit/chat.ts";

test.use({ settings: { ACCOUNTS: "on" } });

/** Fills in the open form and submits it. */
async function fillIn(page: Page, name: string, password = PASSWORD): Promise<void> {
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Password").fill(password);
  await page.locator("[type=submit]").click();
}

/** Opens a page in a new browser context, which has its own cookies. */
async function browserOf(browser: Browser, baseURL: string, options = {}): Promise<[BrowserContext, Page]> {
  const context = await browser.newContext({ baseURL, serviceWorkers: "block", ...options });
  return [context, await context.newPage()];
}

/** Signs up a user with an admin's invitation. */
async function invite(admin: Page, guest: Page, name: string): Promise<void> {
  const made = await admin.request.post("/api/invitations", { data: {} });
  const { url } = await made.json();
  await guest.goto(url);
  await fillIn(guest, name);
  await expect(guest.getByTestId("person")).toContainText(name);
}

test("two users in two browsers see only their own conversations", async ({ page, browser, baseURL, server }) => {
  // If the database supports several servers, ben uses a replica.
  const elsewhere = (await server.replica()) ?? baseURL!;
  await page.goto("/");
  await expect(page).toHaveURL(/\/sign-in$/);
  await fillIn(page, ADMIN);
  await expect(page.getByTestId("person")).toContainText(ADMIN);

  const [ann, anns] = await browserOf(browser, baseURL!);
  const [ben, bens] = await browserOf(browser, elsewhere);
  await invite(page, anns, "ann");
  await invite(page, bens, "ben");
  await new ChatPage(anns).ask("What is 1 + 2?");
  await new ChatPage(bens).ask("What is 3 + 4?");
  const links = (of: Page) => of.locator(".conversation-link");
  for (const [own, other, words] of [
    [anns, bens, "1 + 2"],
    [bens, anns, "3 + 4"],
  ] as const) {
    const path = new URL(own.url()).pathname;
    for (const address of new Set([baseURL!, elsewhere])) {
      await own.goto(address + path);
      await expect(links(own)).toHaveCount(1);
      await expect(links(own)).toContainText(words);
      const answer = await other.request.get(address + path.replace("/c/", "/api/conversations/"));
      expect(answer.status()).toBe(404);
      expect(await answer.text()).not.toContain(words);
    }
    await expect(links(other)).not.toContainText(words);
  }

  await test.step("signing out leaves nothing for the next user of the browser", async () => {
    const address = anns.url();
    await anns.getByTestId("composer").fill("Something not sent yet");
    await anns.getByTestId("sign-out").click();
    await expect(anns).toHaveURL(/\/sign-in$/);
    await anns.goBack();
    await expect(anns.getByLabel("Password")).toBeVisible();
    await expect(anns.getByText("1 + 2")).toHaveCount(0);
    await anns.goto(address);
    await fillIn(anns, "ben");
    // After signing in, ben is at the address of a conversation that he may not see.
    await expect(anns).toHaveURL(address);
    await expect(anns.getByTestId("person")).toContainText("ben");
    await expect(anns.getByText("1 + 2")).toHaveCount(0);
    await anns.goto("/");
    await expect(anns.getByTestId("composer")).toHaveValue("");
  });
  await ann.close();
  await ben.close();
});

test("a link to a message leads to it after signing in", async ({ page, tolerated }) => {
  tolerated.push(/status of 401 .*\/sign-in/);
  await page.goto("/sign-in");
  await fillIn(page, ADMIN);
  await new ChatPage(page).ask("What is 1 + 2?");
  const conversation = new URL(page.url()).pathname;
  const { messages } = await (await page.request.get(`/api${conversation.replace("/c/", "/conversations/")}`)).json();
  const link = `${conversation}#message-${messages[0].id}`;
  await page.context().clearCookies();
  await page.goto("about:blank");
  await page.goto(link);
  await expect(page).toHaveURL(/\/sign-in\?next=/);
  await fillIn(page, ADMIN, "not the password");
  await expect(page.getByRole("alert")).toBeVisible();
  await fillIn(page, ADMIN);
  await expect(page).toHaveURL(new RegExp(`${link}$`));
  await expect(page.locator(`#message-${messages[0].id}`)).toBeFocused();
});

test.describe("in another browser", () => {
  // The page receives a 401 when the session has ended, and the browser logs it to the console.
  test.use({ tolerated: [/Service Worker registration blocked by Playwright|status of 401/] });

  test("a user who is typing sees that the session ended, and gets the text back after signing in", async ({ page, browser, baseURL }) => {
    await page.goto("/sign-in");
    await fillIn(page, ADMIN);
    const chat = new ChatPage(page);
    await chat.ask("What is 1 + 2?");
    const address = page.url();
    await page.getByTestId("composer").fill("Half a thought");
    const [elsewhere, other] = await browserOf(browser, baseURL!);
    await other.goto("/sign-in");
    await fillIn(other, ADMIN);
    await expect(other.getByTestId("person")).toContainText(ADMIN);
    await other.request.delete("/api/sessions");
    await expect(page.getByTestId("signed-out")).toHaveText("You are signed out. Your text is saved in this browser.");
    await page.getByTestId("send").click();
    await expect(page.getByTestId("composer"), "the text comes back").toHaveValue("Half a thought");
    await expect(page.getByTestId("notice"), "no error message for API clients").toHaveCount(0);
    await page.getByTestId("sign-in-again").click();
    await expect(page).toHaveURL(/\/sign-in\?next=/);
    await fillIn(page, ADMIN);
    await expect(page).toHaveURL(address);
    await expect(page.getByTestId("composer")).toHaveValue("Half a thought");
    await elsewhere.close();
  });

  test("a session that was ended elsewhere redirects to the sign-in form", async ({ page, browser, baseURL }) => {
    await page.goto("/sign-in");
    await fillIn(page, ADMIN);
    await alive(page);
    const [elsewhere, other] = await browserOf(browser, baseURL!);
    await other.goto("/sign-in");
    await fillIn(other, ADMIN);
    await expect(other.getByTestId("person")).toContainText(ADMIN);
    await other.request.delete("/api/sessions");
    await expect(page).toHaveURL(/\/sign-in$/);
    await elsewhere.close();
  });

  test("a page whose user is deactivated goes to the sign-in form, which says so", async ({ page, browser, baseURL }) => {
    const [office, admin] = await browserOf(browser, baseURL!);
    await admin.request.post("/api/session", { data: { name: ADMIN, password: PASSWORD } });
    await invite(admin, page, "eva");
    await alive(page);
    const { items } = await (await admin.request.get("/api/users")).json();
    const { id } = items.find((user: { name: string }) => user.name === "eva");
    expect((await admin.request.patch(`/api/users/${id}`, { data: { active: false } })).status()).toBe(200);
    await expect(page).toHaveURL(/\/sign-in$/);
    const problem = "An admin deactivated your account. To use it again, ask an admin to reactivate it.";
    await expect(page.getByTestId("problem")).toHaveText(problem);
    expect(await findings(page)).toEqual(NOTHING);
    const [elsewhere, other] = await browserOf(browser, baseURL!);
    await other.goto("/sign-in");
    await expect(other.locator("#password")).toBeVisible();
    await expect(other.getByTestId("problem"), "other browsers learn nothing").toHaveCount(0);
    // Another user can sign in with this browser.
    await fillIn(page, ADMIN);
    await expect(page.getByTestId("person")).toContainText(ADMIN);
    await elsewhere.close();
    await office.close();
  });

  test("drafts are separate for each user of a browser", async ({ page, browser, baseURL, context }) => {
    const [office, admin] = await browserOf(browser, baseURL!);
    await admin.goto("/sign-in");
    await fillIn(admin, ADMIN);
    await expect(admin.getByTestId("person")).toContainText(ADMIN);
    await invite(admin, page, "cleo");
    await alive(page);
    const field = page.getByTestId("composer");
    await field.fill("A secret");
    // Over plain HTTP, browsers do not clear a site's data when the user signs out. A session may also just expire.
    await context.clearCookies();
    await invite(admin, page, "dan");
    await alive(page);
    await expect(field).toHaveValue("");
    await field.fill("Dan's own");
    await page.getByTestId("sign-out").click();
    await expect(page).toHaveURL(/\/sign-in$/);
    expect(await page.evaluate(() => Object.keys(localStorage)), "signing out clears all of them").toEqual([]);
    await office.close();
  });
});

test("a button shows the password, and the form is sent with a hidden one", async ({ page }) => {
  await page.goto("/sign-in");
  const [field, toggle] = [page.locator("#password"), page.getByTestId("show-password")];
  await page.locator("#name").fill(ADMIN);
  await field.fill(PASSWORD);
  await toggle.click();
  await expect(field).toHaveAttribute("type", "text");
  await expect(field).toHaveAttribute("autocomplete", "current-password");
  await expect(field).toHaveValue(PASSWORD);
  await expect(toggle).toHaveText("Hide password");
  await toggle.press("Enter");
  await expect(field).toHaveAttribute("type", "password");
  await expect(toggle).toHaveText("Show password");
  await expect(toggle).toBeFocused();

  await toggle.press("Enter");
  await expect(field).toHaveAttribute("type", "text");
  await page.evaluate(() => {
    const form = document.querySelector("form")!;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      form.dataset.sent = form.querySelector<HTMLInputElement>("#password")!.type;
    }, { once: true });
  });
  await field.press("Enter");
  await expect(page.locator("form")).toHaveAttribute("data-sent", "password");
  await field.press("Enter");
  await expect(page.getByTestId("person")).toContainText(ADMIN);
});

test("the sign-in form says what to do about a forgotten password", async ({ page }) => {
  await page.goto("/sign-in");
  const [help, command] = [page.getByTestId("forgot"), page.getByText("tallybook admin password NAME")];
  await expect(command).toBeHidden();
  await help.getByText("Forgot your password?").click();
  await expect(command).toBeVisible();
  await expect(help).toContainText("Ask an admin of this server to set a new one.");
  expect(await findings(page)).toEqual(NOTHING);
});

for (const javaScriptEnabled of [true, false]) {
  for (const [locale, code] of [
    ["en-GB", "en"],
    ["ja-JP", "ja"],
  ] as const) {
    const scripts = javaScriptEnabled ? "with" : "without";
    test(`the forms are accessible, ${locale}, ${scripts} scripts`, async ({ browser, baseURL }) => {
      const viewport = { width: 360, height: 640 };
      const [context, page] = await browserOf(browser, baseURL!, { javaScriptEnabled, locale, viewport });
      const [looking, view] = await browserOf(browser, baseURL!, { locale, viewport });
      // Creates an invitation for the guest's form. The links with `token=x` are not valid any more.
      const [office, admin] = await browserOf(browser, baseURL!);
      await admin.request.post("/api/session", { data: { name: ADMIN, password: PASSWORD } });
      const { url: invitation } = await (await admin.request.post("/api/invitations", { data: {} })).json();
      await office.close();
      for (const path of ["/sign-in", invitation, "/setup?token=x", "/invitation?token=x"]) {
        await page.goto(path);
        const hasForm = !path.endsWith("token=x");
        await expect(page.locator("#password")).toHaveCount(hasForm ? 1 : 0);
        await expect(page.locator("html")).toHaveAttribute("lang", code);
        await expect(page.getByTestId("show-password").filter({ visible: true })).toHaveCount(hasForm && javaScriptEnabled ? 1 : 0);
        // axe needs scripts. With scripts and without, the page is the same, except for the button that shows the password.
        await view.goto(path);
        const html = async (of: Page) => (await of.locator("main").innerHTML()).replace(' hidden=""', "");
        expect(await html(view)).toBe(await html(page));
        expect(await findings(view), path).toEqual(NOTHING);
      }
      await page.goto("/sign-in?next=/c/nowhere");
      await expect(page.locator("#name")).toBeFocused();
      await page.locator("#name").fill(ADMIN);
      await page.locator("#password").fill("not the password");
      await page.locator("[type=submit]").click();
      await expect(page.getByTestId("problem")).toHaveText(
        code === "ja" ? "名前またはパスワードが違います。" : "The name or the password is wrong.",
      );
      await expect(page.locator("#name")).toHaveValue(ADMIN);
      await expect(page.locator("#password"), "the page is reloaded").toBeFocused();
      await view.goto("/sign-in");
      await view.locator("#name").fill(ADMIN);
      await view.locator("#password").fill("not the password");
      await view.locator("[type=submit]").click();
      await expect(view.getByTestId("problem")).toBeVisible();
      expect(await findings(view), "with a problem").toEqual(NOTHING);
      await page.locator("#password").fill(PASSWORD);
      await page.locator("[type=submit]").click();
      await expect(page).toHaveURL(/\/c\/nowhere$/);
      await expect(page.getByTestId("person")).toContainText(ADMIN);
      await context.close();
      await looking.close();
    });
  }
}
