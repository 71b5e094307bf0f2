// Tests the typesetter, which colors code and lays out formulas. It loads when a page first shows some, and never harms the text.

import type { Locator, Page } from "@playwright/test";
import { violations } from "../kit/axe.ts";
import { ChatPage, alive } from "../kit/chat.ts";
import { ATTACKS, watch } from "../kit/hostile.ts";
import { gate } from "../kit/model.ts";
import { conversation, open } from "../kit/seed.ts";
import { expect, test } from "../kit/test.ts";

test.use({ scripted: true, settings: { LLM_TITLES: "false" } });

const MATHML = "http://www.w3.org/1998/Math/MathML";
const SECOND = /\/typeset(\.js|_bg\.wasm)/;

/** Returns the names of the typesetter's files that are requested from now on. The list grows. */
function second(page: Page): string[] {
  const asked: string[] = [];
  page.on("request", (request) => {
    const part = SECOND.exec(request.url());
    if (part) asked.push(part[0]);
  });
  return asked;
}

/** Returns the colored texts of the page, by the name of their highlight, in the order of the page. */
function colored(page: Page): Promise<Record<string, string[]>> {
  return page.evaluate(() => {
    const read = (ranges: Highlight) =>
      [...ranges]
        .map(({ startContainer, startOffset, endContainer, endOffset }) => {
          const range = document.createRange();
          range.setStart(startContainer, startOffset);
          range.setEnd(endContainer, endOffset);
          return range;
        })
        .sort((one, other) => one.compareBoundaryPoints(Range.START_TO_START, other))
        .map(String);
    return Object.fromEntries(
      [...CSS.highlights].map(([name, ranges]) => [name, read(ranges)] as const).filter(([, texts]) => texts.length > 0),
    );
  });
}

/** Returns the TeX source that is contained in a formula's MathML. */
function source(formula: Locator): Promise<string | null> {
  return formula.evaluate((element) => element.querySelector("annotation[encoding='application/x-tex']")!.textContent);
}

test("the typesetter is requested once, with the first code or formula", async ({ page, model }) => {
  const asked = second(page);
  const chat = new ChatPage(page);
  await page.goto("/");
  model.answer(["Words, `code` in a line, $5 and $10.\n\n```\nno label\n```\n"]);
  await chat.ask("Plainly, please.");
  expect(asked).toEqual([]);
  await page.reload();
  await alive(page);
  expect(asked).toEqual([]);

  model.answer(["```rust\nfn one() {}\n```\n"]);
  await chat.ask("Now with code.");
  await expect.poll(() => colored(page)).toMatchObject({ "code-keyword": ["fn"], "code-function": ["one"] });
  model.answer(["Let $x$ be.\n"]);
  await expect((await chat.ask("And with a formula.")).locator("math")).toHaveCount(1);
  expect(asked.toSorted()).toEqual(["/typeset.js", "/typeset_bg.wasm"]);

  await page.reload();
  await expect(chat.answers.last().locator("math")).toHaveCount(1);
  await expect.poll(() => colored(page)).toMatchObject({ "code-keyword": ["fn"] });
  expect(asked.toSorted()).toEqual(["/typeset.js", "/typeset.js", "/typeset_bg.wasm", "/typeset_bg.wasm"]);
});

test("highlighting changes no node, counts UTF-16 code units, and spans the parts of long code", async ({ page, model }) => {
  const lines = Array.from({ length: 60 }, (_, line) => ` line ${line}\n`).join("");
  const code = `let 計 = "🙂🙂"; /*\n${lines}*/ let end = 1;\n`;
  const chat = new ChatPage(page);
  await page.goto("/");
  model.answer([`\`\`\`js\n${code}\`\`\`\n`]);
  const answer = await chat.ask("Long code, please.");
  for (const when of ["live", "reloaded"]) {
    await expect
      .poll(() => colored(page), when)
      .toEqual({
        "code-keyword": ["let", "let"],
        "code-string": ['"🙂🙂"'],
        "code-comment": [`/*\n${lines}*/`],
        "code-literal": ["1"],
      });
    await expect(answer.locator("pre > code > :not(.lines)"), when).toHaveCount(0);
    await expect(answer.locator("pre > code"), when).toHaveText(code);
    await page.reload();
  }
});

test("finished code is highlighted while the answer grows, and the highlights are removed with the page", async ({ page, model }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  const [first, last] = [gate(), gate()];
  async function* pieces() {
    yield "```python\ndef one(): pass\n";
    await first.opened;
    yield "```\n\nMore and";
    await last.opened;
    yield " more [late].\n\n[late]: https://example.com\n";
  }
  model.answer(pieces());
  const answer = await chat.send("Write slowly.");
  await expect(answer).toContainText("def one");
  expect(await colored(page)).toEqual({});
  first.open();
  const expected = { "code-keyword": ["def", "pass"], "code-function": ["one"] };
  await expect.poll(() => colored(page)).toEqual(expected);
  last.open();
  await expect(answer).toHaveAttribute("data-status", "complete");
  await expect(answer.getByRole("link", { name: "late" })).toBeVisible();
  expect(await colored(page)).toEqual(expected);

  await page.getByTestId("new-chat").click();
  await expect(chat.answers).toHaveCount(0);
  await expect.poll(() => colored(page), "no highlights remain for removed code").toEqual({});
});

test("only code near the viewport is highlighted", async ({ page }) => {
  const code = (name: string) => `\`\`\`go\nfunc ${name}() {}\n\`\`\`\n\n`;
  const far = "A line.\n\n".repeat(300);
  await open(page, conversation("Far", [["Write.", { content: `${code("top")}${far}${code("bottom")}` }]]));
  const thread = page.locator("#thread");
  const scroll = (to: "top" | "bottom") =>
    thread.evaluate((element, to) => element.scrollTo({ top: to === "top" ? 0 : element.scrollHeight, behavior: "instant" }), to);
  for (const end of ["top", "bottom", "top"] as const) {
    await scroll(end);
    await expect.poll(async () => (await colored(page))["code-function"], end).toEqual([end]);
  }
});

const FORMULAS = String.raw`Inline $x_1 < \frac{a}{2}$ and \( y * z * w \).

\[
\begin{aligned}
a &= b \\
- c &= \sum_{i=0}^n i^2
\end{aligned}
\]

It costs $5 and $10, or US$5–$10; ${"`$HOME`"} is $HOME/$USER. Bad: $\unknown{x}$.

| formula | value |
|---|---|
| $\sqrt{2}$ | 1.41 |
`;

test("formulas are MathML with their source, live and after a reload", async ({ page, model, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const chat = new ChatPage(page);
  await page.goto("/");
  model.answer(FORMULAS.match(/[^]{1,5}/g)!);
  const answer = await chat.ask("Some formulas, please.");
  for (const when of ["live", "reloaded"]) {
    const shapes = answer.locator(".math > math");
    await expect(shapes, when).toHaveCount(4);
    const spaces = await shapes.evaluateAll((all) => all.flatMap((one) => [one, ...one.querySelectorAll("*")]).map((one) => one.namespaceURI));
    expect(new Set(spaces), when).toEqual(new Set([MATHML]));
    expect(await source(shapes.first()), when).toBe(String.raw`x_1 < \frac{a}{2}`);
    await expect(shapes.first().locator("msub"), when).toHaveText("x1");
    await expect(shapes.first().locator("mfrac > *"), when).toHaveText(["a", "2"]);
    expect(await source(shapes.nth(1)), when).toBe("y * z * w");
    expect(await shapes.nth(2).getAttribute("display"), when).toBe("block");
    await expect(shapes.nth(2).locator("mtr"), when).toHaveCount(2);
    await expect(shapes.nth(2).locator("munderover"), when).toHaveText("∑i=0n");
    await expect(answer.locator("td msqrt"), when).toHaveText("2");

    await expect(answer, when).toContainText("It costs $5 and $10, or US$5–$10; $HOME is $HOME/$USER.");
    await expect(answer.locator(".math:not(:has(math))"), when).toHaveText([String.raw`$\unknown{x}$`]);
    await expect(answer.locator("em, ul"), when).toHaveCount(0);
    await page.evaluate(() => navigator.clipboard.writeText("something else"));
    await answer.getByTestId("copy-answer").click();
    await expect.poll(() => page.evaluate(() => navigator.clipboard.readText()), when).toBe(FORMULAS);
    await page.reload();
  }
});

test("a redrawn formula appears once, and is removed with its text", async ({ page, model }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  const held = gate();
  async function* pieces() {
    yield "See [late] for $a^2$.\n\nMore.\n\nStill more.";
    await held.opened;
    yield "\n\n[late]: https://example.com\n";
  }
  model.answer(pieces());
  const answer = await chat.send("Write slowly.");
  await expect(answer.locator("math")).toHaveCount(1);
  held.open();
  await expect(answer.getByRole("link", { name: "late" })).toBeVisible();
  await expect(answer.locator(".math")).toHaveCount(1);
  await expect(answer.locator(".math > *")).toHaveCount(1);
  await expect(answer.locator("math msup")).toHaveText("a2");
});

test("wide formulas scroll, also with the keyboard", async ({ page }) => {
  await page.setViewportSize({ width: 360, height: 640 });
  const long = Array.from({ length: 60 }, (_, index) => `x_{${index}}`).join(" + ");
  await open(page, conversation("Wide", [["Widely.", { content: `Inline $${long}$ here.\n\n$$${long}$$\n\n$$x$$` }]]));
  await expect(page.locator("math")).toHaveCount(3);
  const wide = page.locator(".math[tabindex='0']");
  await expect(wide).toHaveCount(2);
  for (const formula of await wide.all()) {
    expect(await formula.evaluate((element) => element.scrollWidth > element.clientWidth)).toBe(true);
  }
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
});

test("hostile formulas, labels and code are text", async ({ page, model }) => {
  const harmless = await watch(page);
  const deep = [
    String.raw`\sqrt`.repeat(1500),
    "{".repeat(3000),
    `${String.raw`\frac{`.repeat(12)}a${"}{b}".repeat(12)}`,
    `${String.raw`\left(`.repeat(39)}a${String.raw`\right)`.repeat(39)}`,
    `${String.raw`\boxed{`.repeat(12)}a${"}".repeat(12)}`,
    `${String.raw`\overset a`.repeat(38)}a`,
    String.raw`\overset a`.repeat(600),
    "x".repeat(100_000),
  ];
  const formulas = [
    ...ATTACKS,
    ...deep,
    String.raw`\href{javascript:alert(1)}{x}`,
    String.raw`\text{<img src=x onerror=alert(1)>}`,
    String.raw`\begin{align}\label{x}a\end{align}\eqref{javascript:alert(1)}`,
    String.raw`\hspace{100000em}x\kern-100000em y`,
    String.raw`\color{red}\style{color:red}x`,
    String.raw`\includegraphics{https://evil.invalid/x.png}`,
  ];
  const marked = formulas.flatMap((tex) => [`\\[${tex}\\]`, `$$${tex}$$`, `\\(${tex}\\)`]);
  const fences = [...ATTACKS, "rust", "html", "markdown"].map((label) => `\`\`\`${label}\n${ATTACKS.join("\n")}\n\`\`\``);
  const chat = new ChatPage(page);
  await page.goto("/");
  model.answer([[...marked, ...fences, "Last: $e^{i\\pi}$"].join("\n\n")]);
  const answer = await chat.ask("Attack.");
  for (const when of ["live", "reloaded"]) {
    await expect(answer.locator("math").last().locator("msup"), when).toHaveText("eiπ");
    await page.locator("#thread").evaluate(async (thread) => {
      for (let top = 0; top < thread.scrollHeight; top += 1000) {
        thread.scrollTo({ top, behavior: "instant" });
        // What comes near is laid out in one frame. The page notices it in a later one.
        for (let frames = 0; frames < 4; frames++) await new Promise(requestAnimationFrame);
      }
    });
    await expect(answer.locator(".math:not(:has(math))").first(), when).toContainText("\\[\\sqrt");
    const odd = answer.locator("math :is(a, img, script, [href], [src], [style], [id], [onerror])");
    await expect(odd, when).toHaveCount(0);
    await harmless();
    await page.reload();
  }
});

test("without the typesetter all text is shown, and the next block retries the request", async ({ page, model, tolerated }) => {
  tolerated.push(/Failed to load resource/);
  const asked = second(page);
  await page.route(SECOND, (route) => route.abort());
  const chat = new ChatPage(page);
  await page.goto("/");
  model.answer(["Let $x_1$ be.\n\n```rust\nfn one() {}\n```\n"]);
  const answer = await chat.ask("Offline.");
  await expect.poll(() => asked).not.toEqual([]);
  await expect(answer).toContainText("Let $x_1$ be.");
  await expect(answer).toContainText("fn one() {}");
  expect(await colored(page)).toEqual({});

  await page.unroute(SECOND);
  model.answer(["And $y_2$ too.\n"]);
  const next = await chat.ask("Online again.");
  await expect(next.locator("math msub")).toHaveText("y2");
});

for (const colorScheme of ["light", "dark"] as const) {
  test(`the highlight colors pass axe, ${colorScheme}`, async ({ page }) => {
    await page.emulateMedia({ colorScheme });
    const content = `${FORMULAS}\n\n\`\`\`rust\n// a\nlet x: u8 = 1;\n\`\`\`\n\n\`\`\`diff\n-a\n+b\n\`\`\``;
    await open(page, conversation("Colours", [["Show me.", { content }]]));
    await expect(page.locator("math")).toHaveCount(4);
    await expect.poll(async () => (await colored(page))["code-comment"]).toEqual(["// a"]);
    const contrasts = await page.locator(".code").first().evaluate((code) => {
      const luminance = (color: string) => {
        const [red, green, blue] = color.match(/[\d.]+/g)!.map((part) => {
          const value = Number(part) / 255;
          return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
      };
      const paper = luminance(getComputedStyle(code).backgroundColor);
      return [...CSS.highlights.keys()].map((name) => {
        const ink = luminance(getComputedStyle(code.querySelector("code")!, `::highlight(${name})`).color);
        return { name, ratio: (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05), ink };
      });
    });
    expect(contrasts).toHaveLength(9);
    for (const { name, ratio } of contrasts) expect(ratio, name).toBeGreaterThan(4.5);
    expect(new Set(contrasts.map(({ ink }) => ink)).size, "each kind has its own color").toBe(9);
    expect(await violations(page)).toEqual([]);
  });
}
