// The page's lists to choose from, as a user handles them.

import { type Locator, expect } from "@playwright/test";

/** Opens a list by its button, and chooses the option with this value. */
export async function choose(button: Locator, value: string): Promise<void> {
  await button.click();
  await options(button).and(button.page().locator(`[data-value="${value}"]`)).click();
  await expect(button).toHaveAttribute("aria-expanded", "false");
}

/** Returns the options of an open list. */
export function options(button: Locator): Locator {
  return button.locator("xpath=following-sibling::*").getByRole("option");
}

/** Asserts that this value is chosen. */
export async function expectChosen(button: Locator, value: string, message?: string): Promise<void> {
  await expect(button, message).toHaveAttribute("data-value", value);
}
