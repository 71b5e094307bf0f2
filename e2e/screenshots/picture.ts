// Takes pictures for the README: light or dark, wide or narrow.

import { join } from "node:path";
import type { Page } from "@playwright/test";

const FOLDER = join(import.meta.dirname, "../../docs/images");

export const SIZES = {
  wide: { width: 1200, height: 930 },
  narrow: { width: 390, height: 800 },
};

type Way = ["light" | "dark", keyof typeof SIZES];

/** Takes a picture of the page in each of these variants. */
export async function picture(page: Page, name: string, ways: Way[]): Promise<void> {
  for (const [colorScheme, size] of ways) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.setViewportSize(SIZES[size]);
    const path = join(FOLDER, `${name}-${colorScheme}-${size}.png`);
    await page.screenshot({ path, animations: "disabled", caret: "hide" });
  }
  await page.setViewportSize(SIZES.wide);
}
