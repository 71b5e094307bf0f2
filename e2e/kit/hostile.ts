// Texts that try to inject scripts, markup or requests, and a check that none of them has an effect.

import { type Page, expect } from "@playwright/test";

export const ATTACKS = [
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "<svg onload=alert(1)>",
  '"><iframe srcdoc="<script>parent.alert(1)</script>"></iframe>',
  "</title></textarea></script><script>alert(1)</script>",
  "javascript:alert(1)",
  "[click](javascript:alert(1))",
  "[click](data:text/html,<script>alert(1)</script>)",
  "![x](https://evil.invalid/x.png)",
  "<a href=javascript:alert(1)>click</a>",
  "{{constructor.constructor('alert(1)')()}}",
  "<style>*{background:url(https://evil.invalid/)}</style>",
];
/** All attacks as one message. */
export const ALL = ATTACKS.join("\n\n");
/** All attacks in one line, for titles and names. */
export const LINE = ATTACKS.join(" ");

/** Records any effect that an attack could have. The returned function asserts that there was none. */
export async function watch(page: Page): Promise<() => Promise<void>> {
  const troubles: string[] = [];
  page.on("dialog", (dialog) => {
    troubles.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    // Checks only the host, because a URL of Tallybook may contain this name in its query.
    if (new URL(request.url()).hostname === "evil.invalid") troubles.push(`request: ${request.url()}`);
  });
  await page.exposeFunction("noteViolation", (directive: string) => troubles.push(`CSP: ${directive}`));
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) => {
      (window as unknown as { noteViolation(directive: string): void }).noteViolation(event.violatedDirective);
    });
  });
  return async () => {
    // Users may click any link in the answers. Files of messages have links and images of the page itself.
    for (const link of await page.locator("article a").all()) {
      expect(await link.getAttribute("href")).toMatch(/^(https?:|mailto:|\/s\/[0-9a-f-]+\/files\/)/);
    }
    const image = 'img:not([src*="/files/"])';
    const active = page.locator(`main :is(script, iframe, ${image}, object, embed, style)`);
    await expect(active).toHaveCount(0);
    expect(troubles).toEqual([]);
  };
}
