// Tests the API documentation page: accessibility and layout at two widths, with scripts and without. Runs its examples unchanged.

import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { violations } from "../kit/axe.ts";
import { expect, test } from "../kit/test.ts";

test.use({ demoPaceMs: 0 });

for (const [javaScriptEnabled, colorScheme, locale, width] of [
  [true, "light", "en-GB", 1440],
  [false, "dark", "ja-JP", 360],
] as const) {
  const scripts = javaScriptEnabled ? "with" : "without";
  test(`the API documentation is accessible, ${colorScheme}, ${locale}, ${width} px, ${scripts} scripts`, async ({ browser, baseURL }) => {
    const options = { baseURL, colorScheme, locale, viewport: { width, height: 800 }, serviceWorkers: "block" } as const;
    const context = await browser.newContext({ ...options, javaScriptEnabled });
    const page = await context.newPage();
    await page.goto("/docs/api");
    await expect(page.locator("html")).toHaveAttribute("lang", locale.slice(0, 2));

    // A closed operation opens with a click, and a link in the table of contents scrolls to its target.
    const closed = page.getByTestId("operation").filter({ hasText: "/api/search" });
    await expect(closed.locator("dl").first()).toBeHidden();
    await closed.locator("summary").first().click();
    await expect(closed.locator("dl").first()).toContainText("cursor");
    await page.getByRole("navigation").getByRole("link", { name: "Search", exact: true }).click();
    await expect(page.locator("#subject-search")).toBeInViewport();
    const link = page.getByRole("navigation").getByRole("link", { name: "POST /v1/chat/completions" });
    if (width > 1000) {
      await link.click();
      await expect(page.locator("#create_chat_completion")).toBeInViewport();
    } else {
      await expect(link).toBeHidden();
    }
    await context.close();

    // axe needs scripts, and the page is the same with scripts and without. axe does not see closed operations.
    const looking = await browser.newContext(options);
    const view = await looking.newPage();
    await view.goto("/docs/api");
    for (const isOpen of [false, true]) {
      await view.locator("main details:not([name])").evaluateAll((all, open) => all.forEach((one) => one.toggleAttribute("open", open)), isOpen);
      // Two sections of open operations are enough, because all operations are drawn alike. Checking all of them takes a minute.
      const opened = ['[aria-labelledby="subject-turns"]', '[aria-labelledby="subject-programs"]'];
      expect(await violations(view, isOpen ? opened : [])).toEqual([]);
      expect(await view.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
    }
    await looking.close();
  });
}

/** Expected output of each example. The demo model writes the answers. */
const SAID: Record<string, RegExp> = {
  answer: /0\.3/,
  stream: /0\.3/,
  thread: /0\.3/,
  message: /0\.3/,
  tool: /0\.3/,
};

const run = promisify(execFile);

/** File extension and command for the examples of each kind. They run in a folder from which the tests' packages are found. */
const RUNS: Record<string, { end: string; run: (file: string, env: NodeJS.ProcessEnv) => Promise<{ stdout: string }> }> = {
  curl: { end: "sh", run: (file, env) => run("sh", ["-eu", file], { env }) },
  Python: { end: "py", run: (file, env) => run(process.env.TEST_PYTHON!, [file], { env }) },
  TypeScript: {
    end: "ts",
    // The compiler checks the types of the example. Node.js 20 cannot run TypeScript, so it runs the compiled file.
    run: async (file, env) => {
      const options = ["--target", "es2023", "--module", "nodenext", "--strict", "--lib", "es2023,dom", "--types", "node", "--skipLibCheck"];
      await run("node", ["node_modules/typescript/bin/tsc", ...options, "--ignoreConfig", file]);
      return run("node", [file.replace(/\.ts$/, ".js")], { env });
    },
  },
};

test("every example on the page runs unchanged", async ({ page, baseURL }, testInfo) => {
  expect(process.env.TEST_PYTHON, "a Python with OpenAI's SDK, which `cargo xtask test` sets up").toBeTruthy();
  await page.goto("/docs/api");
  const examples = await page.getByTestId("example").evaluateAll((all) =>
    all.map((code) => ({ name: (code as HTMLElement).dataset.name!, kind: (code as HTMLElement).dataset.kind!, text: code.textContent })),
  );
  expect(examples.length).toBe(Object.keys(SAID).length * Object.keys(RUNS).length);
  // A folder below `e2e`, so that the packages are found.
  const folder = testInfo.outputPath("examples");
  await mkdir(folder, { recursive: true });
  await writeFile(`${folder}/package.json`, '{"type": "module"}');
  const env = { PATH: process.env.PATH, TALLYBOOK_URL: baseURL, TALLYBOOK_KEY: "any" };
  for (const { name, kind, text } of examples) {
    await test.step(`${name} in ${kind}`, async () => {
      const { end, run } = RUNS[kind]!;
      const file = `${folder}/${name}.${end}`;
      await writeFile(file, text);
      expect((await run(file, env)).stdout, `${name} in ${kind}`).toMatch(SAID[name]!);
    });
  }
});
