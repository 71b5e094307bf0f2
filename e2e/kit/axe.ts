// Runs axe, an accessibility checker, on a page, and lists its findings with the elements that they concern.

import type { Page } from "@playwright/test";
import axe from "axe-core";

/** Returns the accessibility violations of a page, or of the elements that match the selectors `within`. */
export async function violations(page: Page, within: string[] = []): Promise<string[]> {
  // A page keeps the injected script until it navigates.
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

/** Returns the violations in each theme. */
export async function findings(page: Page, within?: string): Promise<Record<"light" | "dark", string[]>> {
  const found = { light: [] as string[], dark: [] as string[] };
  for (const colorScheme of ["light", "dark"] as const) {
    // Without reduced motion, axe would measure colors in the middle of a transition.
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    found[colorScheme] = await violations(page, within === undefined ? [] : [within]);
  }
  return found;
}

/** Expected result of `findings`: no violations in either theme. */
export const NOTHING = { light: [], dark: [] };

/** Variants in which a page is tested: each theme in both languages and both widths. */
export const LOOKS = [
  { colorScheme: "light", locale: "en-GB", viewport: { width: 1280, height: 800 } },
  { colorScheme: "dark", locale: "en-GB", viewport: { width: 390, height: 800 } },
  { colorScheme: "light", locale: "ja-JP", viewport: { width: 390, height: 800 } },
  { colorScheme: "dark", locale: "ja-JP", viewport: { width: 1280, height: 800 } },
] as const;

/**
 * Returns axe's findings within an element of the open page, for each variant, prefixed with the variant. Opens the same address
 * with the same session, and waits for the element with the test ID `there`.
 */
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
