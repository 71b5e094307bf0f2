// Actions of a user in the conversation list.

import { type Locator, type Page, expect } from "@playwright/test";

/** Returns the row of the conversation with this title. */
export function row(page: Page, title: string): Locator {
  return page.locator(".conversation-row", { hasText: title }).first();
}

/** Opens the menu of a row with the keyboard, and chooses an entry. */
export async function chooseInMenu(row: Locator, entry: string): Promise<void> {
  // The list becomes interactive after the rest of the page.
  await expect(row.getByTestId("row-menu")).toBeEnabled();
  await row.getByTestId("row-menu").press("Enter");
  await row.page().getByTestId(entry).press("Enter");
}
