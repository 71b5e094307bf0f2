// Tests the command palette.

import { ChatPage, alive } from "../kit/chat.ts";
import { expectChosen } from "../kit/listbox.ts";
import { expect, test } from "../kit/test.ts";

test("the palette finds conversations and commands with the keyboard alone", async ({ page, request }) => {
  const titles = ["Taxes of 2025", "A train to Kyoto", "Oaks"];
  for (const title of titles) await request.post("/api/conversations", { data: { title } });
  await page.goto("/");
  await alive(page);
  const composer = page.getByTestId("composer");
  await composer.fill("half a thought");
  const palette = page.getByTestId("palette");
  const field = page.getByTestId("palette-field");
  const options = page.getByTestId("palette-option");
  const chosen = palette.locator('[aria-selected="true"]');

  await test.step("no key is lost, and matching text is marked", async () => {
    await page.keyboard.press("Control+k");
    await page.keyboard.type("kyo");
    await expect(field).toHaveValue("kyo");
    await expect(options.first()).toHaveText("A train to Kyoto");
    await expect(options.first().locator("mark")).toHaveText("Kyo");
    await expect(field).toHaveAttribute("aria-activedescendant", (await options.first().getAttribute("id"))!);
  });

  await test.step("Esc returns the focus", async () => {
    await page.keyboard.press("Escape");
    await expect(palette).toBeHidden();
    await expect(composer).toBeFocused();
    await expect(composer).toHaveValue("half a thought");
    await page.keyboard.press("Control+k");
    await expect(field, "it starts empty").toHaveValue("");
    await page.keyboard.press("Control+k");
    await expect(palette).toBeHidden();
  });

  await test.step("arrows and Enter", async () => {
    await page.keyboard.press("Control+k");
    await expect(options.first(), "the newest first").toHaveText("Oaks");
    await page.keyboard.press("ArrowDown");
    await expect(chosen).toHaveText("A train to Kyoto");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowUp");
    await expect(chosen, "and wraps around").toHaveText("Shortcuts and settings");
    await expect(chosen).toBeInViewport({ ratio: 1 });
    await page.keyboard.press("Enter");
    await expect(page.getByTestId("help")).toBeVisible();
    await page.keyboard.press("Escape");
    await page.getByTestId("conversation-link").first().focus();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("taxes");
    await page.keyboard.press("Enter");
    await expect(page).toHaveURL(/\/c\//);
    await expect(page.getByTestId("conversation-menu")).toHaveText("Taxes of 2025");
    await expect(composer, "the message field has the focus").toBeFocused();
  });

  await test.step("commands for the open conversation", async () => {
    await page.keyboard.press("Control+k");
    await page.keyboard.type("rename this");
    await page.keyboard.press("Enter");
    await expect(page.getByTestId("rename-field")).toBeFocused();
    await page.keyboard.type("Taxes");
    await page.keyboard.press("Enter");
    await expect(page.getByTestId("conversation-menu")).toHaveText("Taxes");
    // With no focus to return to, it stays in the palette until the palette has faded.
    await page.evaluate(() => (document.activeElement as HTMLElement).blur());
    await page.keyboard.press("Control+k");
    await page.keyboard.type("archive this");
    await page.keyboard.press("Enter");
    await expect(page.getByTestId("archived-notice")).toBeVisible();
    await expect(page.getByTestId("undo")).toBeFocused();
    await page.keyboard.press("Enter");
    await expect(page.getByTestId("archived-notice")).toHaveCount(0);
    await page.keyboard.press("Control+k");
    const saved = page.waitForEvent("download");
    await page.keyboard.type("as json");
    await page.keyboard.press("Enter");
    expect((await saved).suggestedFilename()).toMatch(/\.json$/);
  });

  await test.step("the theme changes", async () => {
    await page.keyboard.press("Control+k");
    await page.keyboard.type("dark");
    await page.keyboard.press("Enter");
    await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
    await page.getByTestId("open-settings").click();
    await expectChosen(page.getByTestId("setting-theme"), "dark");
    await page.keyboard.press("Control+k");
    await page.keyboard.type("light");
    await page.keyboard.press("Enter");
    await expectChosen(page.getByTestId("setting-theme"), "light", "the settings show it, too");
  });
});

test("commands that do not apply are absent", async ({ page }) => {
  const options = page.getByTestId("palette-option");
  await page.goto("/");
  await alive(page);
  await page.keyboard.press("Control+k");
  await expect(options.filter({ hasText: "New chat" })).toHaveCount(1);
  for (const label of ["this conversation", "Stop", "Copy the last answer"]) {
    await expect(options.filter({ hasText: label }), label).toHaveCount(0);
  }
  await page.keyboard.press("Escape");
  await new ChatPage(page).ask("What is 2 + 3?");
  await page.keyboard.press("Control+k");
  await expect(options.filter({ hasText: "Copy the last answer" })).toHaveCount(1);
  await expect(options.filter({ hasText: "Delete this conversation" })).toHaveCount(1);
});

test("a conversation that is not in the list yet is found by the server", async ({ page, request }) => {
  await request.post("/api/conversations", { data: { title: "Quinces of old" } });
  for (let number = 0; number < 55; number++) await request.post("/api/conversations", { data: { title: `Newer ${number}` } });
  await page.goto("/");
  await alive(page);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("quinces");
  await expect(page.getByTestId("palette-option")).toHaveText(["Quinces of old"]);
  await page.getByTestId("palette-option").click();
  await expect(page.getByTestId("conversation-menu"), "its title is loaded, too").toHaveText("Quinces of old");
});
