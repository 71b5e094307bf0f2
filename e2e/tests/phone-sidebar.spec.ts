// Tests the conversation list on a phone: it covers the page, and nothing behind it can be focused.

import type { Page } from "@playwright/test";
import { alive } from "../kit/chat.ts";
import { chooseInMenu, row } from "../kit/sidebar.ts";
import { expect, test } from "../kit/test.ts";

test.use({ hasTouch: true, isMobile: true, viewport: { width: 390, height: 700 } });

async function openDrawer(page: Page): Promise<void> {
  await page.getByTestId("open-sidebar").tap();
  await expect(page.getByTestId("search")).toBeVisible();
}

const focusedWithin = (page: Page, place: string) =>
  page.evaluate((place) => document.activeElement === document.body || document.activeElement?.closest(place) !== null, place);

test.beforeEach(async ({ page, request }) => {
  for (const title of ["Rivers", "Lakes"]) await request.post("/api/conversations", { data: { title } });
  await page.goto("/");
  await alive(page);
});

test("the open list traps the focus, and returns it", async ({ page }) => {
  await openDrawer(page);
  await expect(page.locator("#main")).toHaveJSProperty("inert", true);
  await expect(page.locator("#close-sidebar")).toBeFocused();
  for (let press = 0; press < 12; press++) {
    await page.keyboard.press("Tab");
    expect(await focusedWithin(page, "#sidebar"), "the focus stays in the list").toBe(true);
  }
  await page.keyboard.press("Escape");
  await expect(page.getByTestId("search")).toBeHidden();
  await expect(page.locator("#main")).toHaveJSProperty("inert", false);
  await expect(page.getByTestId("open-sidebar")).toBeFocused();

  await openDrawer(page);
  await page.touchscreen.tap(380, 400);
  await expect(page.getByTestId("search")).toBeHidden();
  await expect(page.getByTestId("open-sidebar")).toBeFocused();
});

test.describe("with a keyboard", () => {
  test.use({ hasTouch: false, isMobile: false, viewport: { width: 360, height: 700 } });

  test("opening a chat or a new chat from the list moves the focus to the message field", async ({ page }) => {
    const composer = page.getByTestId("composer");
    await page.getByTestId("open-sidebar").press("Enter");
    await expect(page.getByTestId("search")).toBeVisible();
    await row(page, "Lakes").getByTestId("conversation-link").press("Enter");
    await expect(page).toHaveURL(/\/c\//);
    await expect(composer, "and not the button that closed the list").toBeFocused();
    await page.keyboard.type("How deep?");
    await expect(composer).toHaveValue("How deep?");

    await page.getByTestId("open-sidebar").press("Enter");
    await expect(page.getByTestId("search")).toBeVisible();
    await page.getByTestId("new-chat").press("Enter");
    await expect(page).toHaveURL(/\/$/);
    await expect(composer).toBeFocused();
    await page.keyboard.type("How long?");
    await expect(composer).toHaveValue("How long?");
  });
});

test("a row has one button, with a menu at the bottom of the screen", async ({ page }) => {
  await openDrawer(page);
  const rivers = row(page, "Rivers");
  await expect(rivers.getByRole("button")).toHaveCount(1);
  // The size in the layout. The bounding box can be a fraction smaller while the list slides in.
  const side = await rivers.getByTestId("row-menu").evaluate((button: HTMLElement) => Math.min(button.offsetWidth, button.offsetHeight));
  expect(side).toBeGreaterThanOrEqual(44);
  await rivers.getByTestId("row-menu").tap();
  await expect(page.getByTestId("archive")).toBeInViewport({ ratio: 1 });
  await page.getByTestId("delete").tap();
  await expect(page.getByTestId("undo")).toBeFocused();
  await page.getByTestId("undo").tap();
  await expect(row(page, "Rivers").getByTestId("conversation-link")).toBeFocused();
});

test("navigating from the list closes it, and a wide window has no list on top", async ({ page }) => {
  await openDrawer(page);
  await row(page, "Lakes").getByTestId("conversation-link").tap();
  await expect(page).toHaveURL(/\/c\//);
  await expect(page.getByTestId("search")).toBeHidden();
  await expect(page.locator("#main")).toHaveJSProperty("inert", false);

  await openDrawer(page);
  await page.setViewportSize({ width: 1200, height: 700 });
  await expect(page.locator("#main")).toHaveJSProperty("inert", false);
  await chooseInMenu(row(page, "Lakes"), "archive");
  await expect(page.getByTestId("archived-notice")).toBeVisible();
});
