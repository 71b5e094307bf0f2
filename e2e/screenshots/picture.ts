// How a picture is taken: light and dark, wide and narrow.

import { join } from "node:path";
import type { Page } from "@playwright/test";

const FOLDER = join(import.meta.dirname, "../../docs/images");

export const SIZES = {
  wide: { width: 1200, height: 800 },
  narrow: { width: 390, height: 800 },
};

/** Takes what the page shows, in every way in which the README may show it. */
export async function picture(page: Page, name: string): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    for (const [size, viewport] of Object.entries(SIZES)) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.setViewportSize(viewport);
      const path = join(FOLDER, `${name}-${colorScheme}-${size}.png`);
      await page.screenshot({ path, animations: "disabled", caret: "hide" });
    }
  }
  await page.setViewportSize(SIZES.wide);
}
