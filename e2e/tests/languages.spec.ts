// Tests English and Japanese, light and dark: the browser's preference is the default, and the user's choice is remembered.

import { ChatPage, alive } from "../kit/chat.ts";
import { choose, expectChosen, options } from "../kit/listbox.ts";
import { call, conversation, open } from "../kit/seed.ts";
import { expect, test } from "../kit/test.ts";

test.describe("a browser that asks for Japanese", () => {
  test.use({ locale: "ja-JP" });

  test("gets Japanese from the first byte on, and from the interactive page", async ({ page }) => {
    const response = await page.goto("/");
    const html = await response!.text();
    expect(html).toContain('<html lang="ja"');
    expect(html).toContain("何を計算しましょうか？");
    await alive(page);
    await expect(page.getByTestId("example")).toHaveText([/足して/, /掛けて/, /割って/]);

    await page.getByTestId("example").first().click();
    const answer = new ChatPage(page).answers.last();
    await expect(answer).toHaveAttribute("data-status", "complete");
    await expect(answer).toContainText("79");
    await expect(page.getByTestId("tool-group")).toHaveText(/^ツール呼び出し2件\s*add, multiply\s*\S+ ms$/);
    await page.getByTestId("tool-group").click();
    await page.getByTestId("tool-call").last().click();
    await expect(page.getByTestId("tool-call-details").getByRole("heading")).toHaveText(["入力", "出力"]);
    await expect(page.getByTestId("tool-call").last().locator(".tool-duration")).toHaveText(/ ms$/);
    await expect(page.getByTestId("sidebar").getByRole("heading", { name: "今日" })).toBeVisible();
  });

  test("sees errors in Japanese, with the server's own message", async ({ page, tolerated }) => {
    tolerated.push(/Failed to load resource/);
    const failed = { content: "", status: "failed", error: "The provider refused the key.", error_code: "model_auth" };
    await open(page, conversation("失敗", [["計算して", failed]]));
    const error = page.getByRole("alert");
    await expect(error).toContainText("APIキーを受け付けませんでした");
    await expect(error.locator('[lang="en"]')).toHaveText("The provider refused the key.");

    await page.route("**/messages", (route) => route.abort());
    await page.getByTestId("composer").fill("もう一度");
    await page.getByTestId("send").click();
    await expect(page.getByTestId("notice")).toContainText("サーバーに接続できません。");
  });

  test("describes the built-in tools in Japanese", async ({ page }) => {
    await page.goto("/");
    await expect(page.getByTestId("tool-chip").first()).toHaveText("足し算");
    const abouts = page.locator(".tool-about");
    for (const about of await abouts.all()) await expect(about).toHaveText(/[ぁ-ん]/, { useInnerText: false });
    await expect(page.locator(".tool-about:lang(ja)")).toHaveCount(await abouts.count());
    await page.getByTestId("open-tools").click();
    await expect(page.getByTestId("tool-row").first().locator(".tool-row-about")).toHaveText(/[ぁ-ん]/);
  });

  test("shows an empty search result in Japanese", async ({ page }) => {
    const response = await page.request.get("/nowhere", { headers: { "accept-language": "ja,en;q=0.5" } });
    expect(response.status()).toBe(404);
    expect(await response.text()).toContain("このアドレスにページはありません。");
  });
});

test("the user can switch the language, and the choice is remembered", async ({ page, context }) => {
  await page.goto("/");
  await expect(page.getByRole("heading", { name: "What shall we work out?" })).toBeVisible();
  await page.getByTestId("open-settings").click();
  const language = page.getByTestId("setting-language");
  await language.click();
  await expect(options(language)).toHaveText(["English", "日本語"]);
  await options(language).last().click();
  await expect(page.locator("html")).toHaveAttribute("lang", "ja");
  await page.goto("/");
  await expect(page.getByRole("heading", { name: "何を計算しましょうか？" })).toBeVisible();

  const other = await context.newPage();
  await other.goto("/settings");
  await expect(other.locator("html")).toHaveAttribute("lang", "ja");
  await expectChosen(other.getByTestId("setting-language"), "ja");
  await choose(other.getByTestId("setting-language"), "en");
  await expect(other.locator("html")).toHaveAttribute("lang", "en");
});

test("the theme is the system's until the user selects one, which is remembered and never flashes", async ({ page }) => {
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.emulateMedia({ colorScheme: "dark" });
  await page.goto("/settings");
  const dark = await paper();
  await page.emulateMedia({ colorScheme: "light" });
  const light = await paper();
  expect(light).not.toBe(dark);

  const theme = page.getByTestId("setting-theme");
  await choose(theme, "dark");
  expect(await paper()).toBe(dark);
  const again = await page.reload();
  expect(await again!.text(), "the server renders the theme").toContain('data-theme="dark"');
  expect(await paper()).toBe(dark);
  await expectChosen(theme, "dark");

  await choose(theme, "light");
  await page.emulateMedia({ colorScheme: "dark" });
  expect(await paper()).toBe(light);
  await choose(theme, "system");
  expect(await paper()).toBe(dark);
});

test("durations are formatted for each language", async ({ page }) => {
  const calls = [call("add", {}, { duration_ms: 125_000 })];
  await page.context().addCookies([{ name: "tallybook_language", value: "ja", url: "http://127.0.0.1" }]);
  await open(page, conversation("時間", [["計算して", { content: "はい。", calls }]]));
  await expect(page.getByTestId("tool-call").locator(".tool-duration")).toHaveText("2分5秒");
});

test("an arrow key on the language does not reload the page before Enter confirms it", async ({ page }) => {
  await page.goto("/settings");
  await alive(page);
  const language = page.getByTestId("setting-language");
  await expect(language).toBeEnabled();
  await language.focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await expect(options(language).last()).toHaveAttribute("data-active", "");
  await expect(page.locator("html")).toHaveAttribute("lang", "en");
  await page.keyboard.press("Enter");
  await expect(page.locator("html")).toHaveAttribute("lang", "ja");
});
