// axe, in both themes.

import AxeBuilder from "@axe-core/playwright";
import type { Page } from "@playwright/test";

/** What axe finds in each theme, on all of the page or within a place. */
export async function findings(page: Page, within?: string): Promise<Record<"light" | "dark", string[]>> {
  const found = { light: [] as string[], dark: [] as string[] };
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    const axe = new AxeBuilder({ page });
    const { violations } = await (within === undefined ? axe : axe.include(within)).analyze();
    found[colorScheme] = violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join("\n    ")}`);
  }
  return found;
}

/** As it should be. */
export const NOTHING = { light: [], dark: [] };
