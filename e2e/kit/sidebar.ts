// The list of conversations as a person uses it.

import { type Locator, type Page, expect } from "@playwright/test";

/** The row of a conversation, by its title. */
export function row(page: Page, title: string): Locator {
  return page.locator(".conversation-row", { hasText: title }).first();
}

/** Opens the menu of a row by the keyboard, and does what an entry of it says. */
export async function chooseInMenu(row: Locator, entry: string): Promise<void> {
  // The list is alive after the rest of the page.
  await expect(row.getByTestId("row-menu")).toBeEnabled();
  await row.getByTestId("row-menu").press("Enter");
  await row.page().getByTestId(entry).press("Enter");
}
