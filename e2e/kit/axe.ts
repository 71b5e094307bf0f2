// What axe finds on a page, each with the elements that it is about.

import AxeBuilder from "@axe-core/playwright";
import type { Page } from "@playwright/test";

/** What is wrong with a page for those who cannot see it, or not well. */
export async function violations(page: Page): Promise<string[]> {
  const found = await new AxeBuilder({ page }).analyze();
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join("\n")}`);
}

/** How a page can be had: each theme in both languages, wide and narrow. */
export const LOOKS = [
  { colorScheme: "light", locale: "en-GB", viewport: { width: 1280, height: 800 } },
  { colorScheme: "dark", locale: "en-GB", viewport: { width: 390, height: 800 } },
  { colorScheme: "light", locale: "ja-JP", viewport: { width: 390, height: 800 } },
  { colorScheme: "dark", locale: "ja-JP", viewport: { width: 1280, height: 800 } },
] as const;
