// What axe finds on a page, each with the elements that it is about.

import type { Page } from "@playwright/test";
import axe from "axe-core";

/** What is wrong with a page, or with places on it, for those who cannot see it, or not well. */
export async function violations(page: Page, within: string[] = []): Promise<string[]> {
  // A page keeps the script that it was given until it is left.
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe.source);
  const found = await page.evaluate(
    async (within) => {
      const context = within.length > 0 ? { include: within.map((selector) => [selector]) } : document;
      const { violations } = await (window as unknown as { axe: typeof import("axe-core") }).axe.run(context, { resultTypes: ["violations"] });
      return violations.map(({ id, nodes }) => ({ id, nodes: nodes.map(({ html }) => html) }));
    },
    within,
  );
  return found.map(({ id, nodes }) => `${id}: ${nodes.join("\n    ")}`);
}

/** The same in each theme. */
export async function findings(page: Page, within?: string): Promise<Record<"light" | "dark", string[]>> {
  const found = { light: [] as string[], dark: [] as string[] };
  for (const colorScheme of ["light", "dark"] as const) {
    // Colours that are still on their way would be measured.
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    found[colorScheme] = await violations(page, within === undefined ? [] : [within]);
  }
  return found;
}

/** What it should find in each theme. */
export const NOTHING = { light: [], dark: [] };

/** How a page can be had: each theme in both languages, wide and narrow. */
export const LOOKS = [
  { colorScheme: "light", locale: "en-GB", viewport: { width: 1280, height: 800 } },
  { colorScheme: "dark", locale: "en-GB", viewport: { width: 390, height: 800 } },
  { colorScheme: "light", locale: "ja-JP", viewport: { width: 390, height: 800 } },
  { colorScheme: "dark", locale: "ja-JP", viewport: { width: 1280, height: 800 } },
] as const;

/** What axe finds on a page that is open, as the same person has it in each look, once what it is about is `there`; each with its look. */
export async function findingsInAllLooks(page: Page, within: string, there: string): Promise<string[]> {
  const storageState = await page.context().storageState();
  const found: string[] = [];
  for (const look of LOOKS) {
    const context = await page.context().browser()!.newContext({ ...look, storageState, serviceWorkers: "block" });
    const same = await context.newPage();
    await same.goto(page.url());
    await same.getByTestId(there).waitFor();
    for (const finding of await violations(same, [within])) found.push(`${look.locale}, ${look.colorScheme}: ${finding}`);
    await context.close();
  }
  return found;
}
