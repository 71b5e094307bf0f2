// Tests copying and downloading parts of an answer, and footnotes.

import { readFile } from "node:fs/promises";
import { conversation, open } from "../kit/seed.ts";
import { expect, test } from "../kit/test.ts";

const LONG = `let words = "${"word ".repeat(80)}";`;
const ANSWER = [
  "See[^1].",
  `\`\`\`rust\n${LONG}\n\`\`\``,
  '| Item | Sum |\n|-|-:|\n| A, "big" | -5 |\n| =1+2 | **3** |',
  "[^1]: The note.",
].join("\n\n");

test("code can be wrapped and downloaded with its language's file extension, and a table is copied as CSV", async ({ page, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await open(page, conversation("Code", [["Write", { content: ANSWER }]]));
  const wrap = page.getByTestId("wrap-code");
  const pre = page.locator(".code pre");
  const scrolls = () => pre.evaluate((pre) => pre.scrollWidth > pre.clientWidth);
  expect(await scrolls()).toBe(true);
  await wrap.click();
  await expect(wrap).toHaveAttribute("aria-pressed", "true");
  expect(await scrolls()).toBe(false);
  await wrap.press("Enter");
  await expect(wrap).toHaveAttribute("aria-pressed", "false");
  expect(await scrolls()).toBe(true);

  const [file] = await Promise.all([page.waitForEvent("download"), page.getByTestId("download-code").click()]);
  expect(file.suggestedFilename()).toBe("code.rs");
  expect(await readFile((await file.path())!, "utf8")).toBe(`${LONG}\n`);

  const copy = page.getByTestId("copy-table");
  await copy.click();
  await expect(copy).toHaveAttribute("data-copied", "");
  const csv = await page.evaluate(() => navigator.clipboard.readText());
  expect(csv.replaceAll("\r\n", "\n")).toBe('Item,Sum\n"A, ""big""",-5\n\'=1+2,3\n');
});

test("the user's own message is copied as it was typed", async ({ page, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const text = "First **line**\n\n  and <b>another</b>";
  await open(page, conversation("Copy", [[text, { content: "Yes." }]]));
  const copy = page.locator('article[data-role="user"]').getByTestId("copy-question");
  await expect(copy).toHaveAccessibleName("Copy this message");
  await copy.click();
  await expect(copy).toHaveAccessibleName("Copied");
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(text);
  await expect(copy).toHaveAccessibleName("Copy this message");
});

test("copied selections omit the labels of buttons", async ({ page, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await open(page, conversation("Code", [["Write", { content: ANSWER }]]));
  await page.locator('article[data-role="assistant"]').evaluate((answer) => getSelection()!.selectAllChildren(answer));
  await page.keyboard.press("Control+C");
  const copied = await page.evaluate(async () => {
    const [item] = await navigator.clipboard.read();
    return Promise.all(["text/plain", "text/html"].map(async (type) => (await item!.getType(type)).text()));
  });
  expect(copied[0]).toContain("let words");
  for (const text of copied) {
    expect(text).toContain("big");
    expect(text).not.toMatch(/Wrap|Download|Copy/);
  }
});

test("a table is copied with its source text, not with its rendered text", async ({ page, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const table = "| Formula | Note |\n|-|-|\n| $x^2$ | 1[^1] |\n| $$y$$ | two<br>lines |\n\n[^1]: The note.";
  await open(page, conversation("Table", [["Write", { content: table }]]));
  await expect(page.locator("td math").first(), "the formulas are typeset").toBeVisible();
  const copy = page.getByTestId("copy-table");
  await copy.click();
  await expect(copy).toHaveAttribute("data-copied", "");
  const csv = await page.evaluate(() => navigator.clipboard.readText());
  expect(csv.replaceAll("\r\n", "\n")).toBe('Formula,Note\n$x^2$,1\n$$y$$,"two\nlines"\n');
});

test("a footnote and its reference link to each other, and ids are unique", async ({ page }) => {
  await open(page, conversation("Notes", [["One", { content: ANSWER }], ["Two", { content: ANSWER }]]));
  await expect(page.locator("article")).toHaveCount(4);
  const ids = await page.locator("[id]").evaluateAll((all) => all.map((element) => element.id));
  expect(new Set(ids).size).toBe(ids.length);
  const address = page.url();
  const reference = page.getByRole("link", { name: "Footnote 1" }).last();
  await reference.click();
  await expect(page.locator(".footnote:target")).toContainText("The note.");
  await expect(page.locator(".footnote:target")).toBeInViewport();
  await page.locator(".footnote:target").getByRole("link", { name: "Back to 1" }).click();
  await expect(page.locator(".footnote-ref a:target")).toBeInViewport();
  expect(page.url().split("#")[0], "the page is not reloaded").toBe(address);
});

for (const width of [360, 768]) {
  test(`nothing overflows at ${width} pixels`, async ({ page }) => {
    await page.setViewportSize({ width, height: 700 });
    await open(page, conversation("Code", [["Write", { content: ANSWER }]]));
    const thread = page.locator("#thread");
    expect(await thread.evaluate((area) => area.scrollWidth - area.clientWidth)).toBe(0);
    await expect(page.getByTestId("copy-code")).toBeInViewport();
  });
}
