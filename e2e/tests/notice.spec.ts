// Tests refused notifications, content that is dropped or pasted, single-key shortcuts, and the settings of a server without accounts.

import type { Page } from "@playwright/test";
import { ChatPage, alive } from "../kit/chat.ts";
import { choose, expectChosen } from "../kit/listbox.ts";
import { watchNotifications } from "../kit/notifications.ts";
import { expect, test } from "../kit/test.ts";

/** Drags something over the page and drops it. Returns for both events whether the page prevented the browser's default action. */
function drop(page: Page, kind: "file" | "text"): Promise<boolean[]> {
  return page.evaluate((kind) => {
    const dataTransfer = new DataTransfer();
    if (kind === "file") dataTransfer.items.add(new File(["x"], "x.html", { type: "text/html" }));
    else dataTransfer.setData("text/plain", "and the rest");
    const init = { bubbles: true, cancelable: true, dataTransfer };
    const target = document.querySelector("#main")!;
    return [new DragEvent("dragover", init), new DragEvent("drop", init)].map((event) => !target.dispatchEvent(event));
  }, kind);
}

test("blocked notifications are reported", async ({ page }) => {
  await watchNotifications(page, "denied");
  await page.goto("/");
  await alive(page);
  await page.keyboard.press("Control+/");
  // `check` would fail, because the box does not stay checked.
  await page.getByTestId("notifications").click();
  await expect(page.getByTestId("help")).toContainText("Notifications are blocked in your browser.");
  await expect(page.getByTestId("notifications")).not.toBeChecked();
});

test("a dropped file is attached and does not replace the page, and dropped text goes into the field", async ({ page }) => {
  await page.goto("/");
  await alive(page);
  const field = page.getByTestId("composer");
  await field.fill("Half a thought");
  expect(await drop(page, "file")).toEqual([true, true]);
  await expect(page.getByTestId("attachment")).toContainText("x.html");
  await expect(field).toHaveValue("Half a thought");
  expect(await drop(page, "text")).toEqual([true, true]);
  await expect(field).toHaveValue("Half a thought\nand the rest");
});

test("a pasted picture is attached, but not if there is text next to it", async ({ page }) => {
  await page.goto("/");
  await alive(page);
  const paste = (text?: string) =>
    page.getByTestId("composer").evaluate((field, text) => {
      const clipboardData = new DataTransfer();
      clipboardData.items.add(new File(["…"], "picture.png", { type: "image/png" }));
      if (text) clipboardData.setData("text/plain", text);
      return field.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
    }, text);
  expect(await paste("Cells of a table"), "the browser pastes the text").toBe(true);
  await expect(page.getByTestId("attachment")).toHaveCount(0);
  expect(await paste()).toBe(false);
  await expect(page.getByTestId("attachment")).toContainText("picture.png");
});

test("a dropped file does not replace the page without an interactive message field either", async ({ page, tolerated }) => {
  tolerated.push(/status of 404/);
  await page.goto("/settings");
  await alive(page);
  expect(await drop(page, "file"), "the settings").toEqual([true, true]);
  await page.goto("/c/01890a5d-ac96-774b-bcce-b302099a8057");
  await alive(page);
  expect(await drop(page, "file"), "nothing here").toEqual([true, true]);
  await page.route(/tallybook_bg\.wasm/, () => {});
  await page.goto("/", { waitUntil: "commit" });
  await expect(page.getByTestId("composer")).toBeEnabled();
  expect(await drop(page, "file"), "before the page is alive").toEqual([true, true]);
  await expect(page.locator("body")).not.toHaveAttribute("data-alive");
});

test("single-key shortcuts can be turned off, and the setting is remembered", async ({ page }) => {
  await page.goto("/");
  await new ChatPage(page).ask("What is 1 + 2?");
  const line = page.locator(".tool-line").last();
  await page.locator("#thread").focus();
  await page.keyboard.press("e");
  await expect(line).toHaveAttribute("aria-expanded", "true");
  await page.keyboard.press("Control+/");
  await page.getByTestId("single-keys").uncheck();
  await page.keyboard.press("Escape");
  for (const visit of ["now", "later"]) {
    const was = await line.getAttribute("aria-expanded");
    await page.locator("#thread").focus();
    for (const key of ["e", "[", "]"]) await page.keyboard.press(key);
    await expect(line, visit).toHaveAttribute("aria-expanded", was!);
    await expect(page.locator("#thread")).toBeFocused();
    await page.reload();
    await alive(page);
  }
});

test("a server without accounts has only the settings that apply", async ({ page }) => {
  await page.goto("/");
  await alive(page);
  await page.getByTestId("open-settings").click();
  await expect(page).toHaveURL(/\/settings$/);
  await expect(page.getByTestId("instructions")).toBeVisible();
  for (const name of ["profile", "sessions", "keys", "people", "delete", "limits"]) {
    await expect(page.getByTestId(`section-${name}`), name).toHaveCount(0);
  }
  for (const name of ["appearance", "keyboard", "approvals", "data"]) {
    await expect(page.getByTestId(`section-${name}`), name).toBeVisible();
  }
  await choose(page.getByTestId("setting-theme"), "dark");
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await expectChosen(page.getByTestId("setting-theme"), "dark");
  // Both places show the same setting.
  await page.getByTestId("section-keyboard").getByTestId("single-keys").uncheck();
  await page.getByRole("button", { name: "Show all shortcuts" }).click();
  await expect(page.getByTestId("help").getByTestId("single-keys")).not.toBeChecked();
  await page.keyboard.press("Escape");
  await page.goBack();
  await expect(page.getByTestId("composer")).toBeVisible();
});
