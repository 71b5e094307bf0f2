// Checks that a part of the page fits into a narrow window.

import { type Locator, type Page, expect } from "@playwright/test";
import { boxOf } from "./chat.ts";

/** Asserts that nothing is wider than the window, and that every control is at least 24 pixels wide and high. */
export async function expectNarrow(page: Page, part: Locator): Promise<void> {
  expect(await part.evaluate((area) => area.scrollWidth - area.clientWidth)).toBe(0);
  expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBeLessThanOrEqual(0);
  const controls = part.locator("button, input, summary, [role=option]");
  for (const control of await controls.filter({ visible: true }).all()) {
    const box = await boxOf(control);
    expect(Math.min(box.width, box.height), await control.evaluate((element) => element.outerHTML)).toBeGreaterThanOrEqual(24);
  }
}
