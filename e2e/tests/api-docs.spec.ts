// The page of the API, for everybody, at any width, with scripts and without; and its examples, run as they stand on it.

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
  test(`the API can be read, ${colorScheme}, ${locale}, ${width} px, ${scripts} scripts`, async ({ browser, baseURL }) => {
    const options = { baseURL, colorScheme, locale, viewport: { width, height: 800 }, serviceWorkers: "block" } as const;
    const context = await browser.newContext({ ...options, javaScriptEnabled });
    const page = await context.newPage();
    await page.goto("/docs/api");
    await expect(page.locator("html")).toHaveAttribute("lang", locale.slice(0, 2));

    // What is closed opens by a press, and what the contents lead to is in sight.
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

    // axe is a script itself, and the page is the same with scripts and without. What is closed it does not see.
    const looking = await browser.newContext(options);
    const view = await looking.newPage();
    await view.goto("/docs/api");
    for (const isOpen of [false, true]) {
      await view.locator("main details:not([name])").evaluateAll((all, open) => all.forEach((one) => one.toggleAttribute("open", open)), isOpen);
      // Of what is open a part is enough, since all operations are drawn alike: looking through all of them takes a minute.
      const opened = ['[aria-labelledby="subject-turns"]', '[aria-labelledby="subject-programs"]'];
      expect(await violations(view, isOpen ? opened : [])).toEqual([]);
      expect(await view.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
    }
    await looking.close();
  });
}

/** What each example says when it is run; the answer's words are the demo model's. */
const SAID: Record<string, RegExp> = {
  answer: /0\.3/,
  stream: /0\.3/,
  thread: /0\.3/,
  message: /0\.3/,
  tool: /0\.3/,
};

const run = promisify(execFile);

/** How the text of each kind is run, from a folder in which the packages of these tests are found. */
const RUNS: Record<string, { end: string; run: (file: string, env: NodeJS.ProcessEnv) => Promise<{ stdout: string }> }> = {
  curl: { end: "sh", run: (file, env) => run("sh", ["-eu", file], { env }) },
  Python: { end: "py", run: (file, env) => run(process.env.TEST_PYTHON!, [file], { env }) },
  TypeScript: {
    end: "ts",
    // What compiles is as TypeScript wants it; Node.js 20 runs what comes of that.
    run: async (file, env) => {
      const options = ["--target", "es2023", "--module", "nodenext", "--strict", "--lib", "es2023,dom", "--types", "node", "--skipLibCheck"];
      await run("node", ["node_modules/typescript/bin/tsc", ...options, "--ignoreConfig", file]);
      return run("node", [file.replace(/\.ts$/, ".js")], { env });
    },
  },
};

test("every example on the page runs as it stands there", async ({ page, baseURL }, testInfo) => {
  expect(process.env.TEST_PYTHON, "a Python with OpenAI's SDK, which `cargo xtask test` sets up").toBeTruthy();
  await page.goto("/docs/api");
  const examples = await page.getByTestId("example").evaluateAll((all) =>
    all.map((code) => ({ name: (code as HTMLElement).dataset.name!, kind: (code as HTMLElement).dataset.kind!, text: code.textContent })),
  );
  expect(examples.length).toBe(Object.keys(SAID).length * Object.keys(RUNS).length);
  // Beneath `e2e`, so that the packages are found.
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
