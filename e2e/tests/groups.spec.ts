// Tests the pages on which admins manage groups and budgets: accessible at two widths, with scripts and without; refusals
// that keep what was entered; and a user whose models and budget follow the groups.

import { violations } from "../kit/axe.ts";
import { ADMIN, PASSWORD, expect, test } from "../kit/accounts.ts";
import { ChatPage, alive } from "../kit/chat.ts";
import { textFile, transfer } from "../kit/files.ts";

test.use({ settings: { ACCOUNTS: "on" }, demoPaceMs: 0 });

for (const [javaScriptEnabled, colorScheme, locale, width] of [
  [true, "light", "en-GB", 1440],
  [false, "dark", "ja-JP", 360],
] as const) {
  const scripts = javaScriptEnabled ? "with" : "without";
  test(`groups and budgets are set, ${colorScheme}, ${locale}, ${width} px, ${scripts} scripts`, async ({ browser, baseURL }) => {
    const options = { baseURL, colorScheme, locale, viewport: { width, height: 800 }, serviceWorkers: "block" } as const;
    const context = await browser.newContext({ ...options, javaScriptEnabled });
    // axe needs scripts, and the content of the page is the same with scripts and without.
    const looking = await browser.newContext(options);
    const users = await browser.newContext(options);
    for (const [who, name] of [[context, ADMIN], [looking, ADMIN]] as const) {
      await who.request.post("/api/session", { data: { name, password: PASSWORD } });
    }
    await context.request.post("/api/users", { data: { name: "ann", password: PASSWORD } });
    await users.request.post("/api/session", { data: { name: "ann", password: PASSWORD } });
    const [page, view] = [await context.newPage(), await looking.newPage()];
    const check = async () => {
      await view.goto(page.url());
      expect(await violations(view)).toEqual([]);
      expect(await view.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
    };
    const models = async () => (await (await users.request.get("/api/models")).json()).items.length;

    await page.goto("/admin");
    await page.locator('nav a[href="/admin/groups"]').click();
    await expect(page.locator(".history-head [aria-current=page]")).toHaveAttribute("href", "/admin/groups");
    await check();
    await page.locator("#name").fill("Staff & <Crew>");
    await page.getByTestId("create-group").click();
    await expect(page.locator("h1")).toHaveText("Staff & <Crew>");
    await check();

    // A refused change keeps what was entered.
    const [members, save] = [page.locator("#members"), page.getByTestId("save-group")];
    await members.fill("zoe");
    await page.locator('input[value="model:demo"]').check();
    await save.click();
    const noUser = locale === "ja-JP" ? "「zoe」というユーザーはいません。" : 'There is no user with the name "zoe".';
    await expect(page.getByTestId("problem")).toHaveText(noUser);
    await expect(members).toHaveValue("zoe");
    await expect(page.locator('input[value="model:demo"]')).toBeChecked();
    expect(await models()).toBe(1);
    await members.fill(` ${ADMIN}\n\n`);
    await save.click();
    await expect(page.getByTestId("saved")).toBeVisible();
    await expect(members).toHaveValue(ADMIN);
    expect(await models()).toBe(0);

    await members.fill(`${ADMIN}\nann`);
    await save.click();
    await expect(page.getByTestId("saved")).toBeVisible();
    expect(await models()).toBe(1);

    const unpriced = { name: "Unpriced", provider: "openai", model: "m", base_url: "http://127.0.0.1:9/v1" };
    expect((await context.request.post("/api/admin/models", { data: unpriced })).status()).toBe(201);
    await page.locator('nav a[href="/admin/budgets"]').click();
    await expect(page.getByTestId("without-prices")).toHaveCount(0);
    await check();
    await page.locator("#principal-1").selectOption({ index: 1 });
    await page.locator("#tokens-1").fill("1000000");
    await page.getByTestId("save-budgets").click();
    await expect(page.getByTestId("saved")).toBeVisible();
    await page.locator("#principal-2").selectOption("user");
    await page.locator("#user-2").fill("ann");
    await page.locator("#period-2").selectOption("day");
    await page.locator("#money-2").fill("2.5");
    await page.locator("#warn_percent-2").fill("50");
    await page.getByTestId("save-budgets").click();
    await expect(page.getByTestId("saved")).toBeVisible();
    await expect(page.locator("#money-2")).toHaveValue("2.5");
    await expect(page.getByTestId("without-prices"), "there is a budget of money").toContainText(": Unpriced");
    await check();
    const budgets = await (await context.request.get("/api/admin/budgets")).json();
    expect(budgets).toMatchObject([
      { period: "month", tokens: 1_000_000, warn_at: 0.8 },
      { period: "day", cost_nanos: 2_500_000_000, warn_at: 0.5 },
    ]);
    expect(budgets.map((budget: { principal: string }) => budget.principal.split(":")[0])).toEqual(["group", "user"]);

    await page.locator("#user-2").fill("zoe");
    await page.getByTestId("save-budgets").click();
    await expect(page.getByTestId("problem")).toHaveText(noUser);
    await page.locator("#user-2").fill("ann");
    await page.locator("#warn_percent-2").fill("101");
    await page.locator("form.admin-settings").evaluate((form: HTMLFormElement) => (form.noValidate = true));
    await page.getByTestId("save-budgets").click();
    await expect(page.getByTestId("problem")).toContainText(locale === "ja-JP" ? "0から100％まで" : "from 0 to 1");
    await page.locator("#warn_percent-2").fill("50");
    await page.locator("#money-2").fill("");
    await page.getByTestId("save-budgets").click();
    await expect(page.getByTestId("saved")).toBeVisible();
    await context.request.delete("/api/admin/models/Unpriced");
    expect((await (await context.request.get("/api/admin/budgets")).json()).length).toBe(1);

    // The user sees the rest of the group's budget.
    const chat = await users.newPage();
    await chat.goto("/");
    await new ChatPage(chat).ask("What is 1 + 2?");
    await chat.goto("/settings");
    await expect(chat.getByTestId("allowance").last()).toContainText("Staff & <Crew>");

    await page.locator('nav a[href="/admin/groups"]').click();
    await page.getByRole("link", { name: "Staff & <Crew>" }).click();
    await page.locator("summary").click();
    await page.getByTestId("delete-group").click();
    await expect(page).toHaveURL(/\/admin\/groups$/);
    await expect(page.getByTestId("group")).toHaveCount(0);
    expect(await (await context.request.get("/api/admin/budgets")).json()).toEqual([]);
    for (const opened of [context, looking, users]) {
      await opened.close();
    }
  });
}

test("what a user may not do is not offered", async ({ browser, baseURL, request }) => {
  await request.post("/api/session", { data: { name: ADMIN, password: PASSWORD } });
  await request.post("/api/users", { data: { name: "bob", password: PASSWORD } });
  const context = await browser.newContext({ baseURL, serviceWorkers: "block" });
  await context.request.post("/api/session", { data: { name: "bob", password: PASSWORD } });
  const page = await context.newPage();
  const chat = new ChatPage(page);
  await page.goto("/");
  await expect(page.getByTestId("attach")).toBeVisible();
  await chat.ask("What is 1 + 2?");
  const uuid = page.url().split("/c/")[1];
  expect((await context.request.post(`/api/conversations/${uuid}/shares`, { data: {} })).status()).toBe(201);

  // Only members of this group, which has none, may do these things.
  const rights = ["make_keys", "upload", "share"];
  const made = await request.post("/api/groups", { data: { name: "Trusted", grants: rights } });
  expect(made.status()).toBe(201);
  await page.reload();
  await expect(page.getByTestId("composer")).toBeEnabled();
  await expect(page.getByTestId("attach")).toHaveCount(0);
  await alive(page);
  const [field, notes] = [page.getByTestId("composer"), textFile("notes.txt", "Heron.")];
  for (const kind of ["dragover", "drop", "paste"] as const) await transfer(field, kind, notes);
  await expect(page.getByTestId("notice")).toContainText("not allowed to upload files");
  await expect(page.getByText("Drop files to attach them")).toBeHidden();
  await expect(page.getByTestId("attachment")).toHaveCount(0);
  await field.evaluate((field) => field.focus());
  await page.evaluate(() => document.execCommand("insertText", false, "A text can be pasted."));
  await expect(field).toHaveValue("A text can be pasted.");
  await field.fill("");
  await page.getByTestId("conversation-menu").first().click();
  await page.getByTestId("menu-share").click();
  await expect(page.getByTestId("may-not-share")).toContainText("Ask an admin");
  await expect(page.getByTestId("make-link")).toHaveCount(0);
  await page.getByTestId("shares").getByRole("button", { name: "Revoke" }).click();
  await expect(page.getByTestId("shares").locator("li"), "a link can still be revoked").toHaveCount(0);
  await page.goto("/settings");
  await expect(page.getByTestId("may-not-make-keys")).toBeVisible();
  await expect(page.getByTestId("make-key")).toHaveCount(0);

  await request.post("/api/groups", { data: { name: "Testers", grants: ["model:demo"] } });
  await page.goto("/");
  await expect(page.getByTestId("no-model")).toContainText("Ask an admin");
  await expect(page.getByTestId("example")).toHaveCount(0);
  await context.close();
});
