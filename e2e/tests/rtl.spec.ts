// Tests right-to-left text: it begins on the right, with its bullets, quote lines and tables. Code and formulas stay left to right.

import { boxOf } from "../kit/chat.ts";
import { conversation, open } from "../kit/seed.ts";
import { expect, test } from "../kit/test.ts";

const ARABIC = [
  "# عنوان",
  "هذه فقرة.",
  "- أول\n- ثان",
  "> اقتباس",
  "| مدينة | سعر |\n|---|---|\n| القاهرة | 12 |",
  "```js\nlet a = 1;\n```",
  "And a paragraph in English.",
].join("\n\n");

test("blocks, bubbles and fields start on the side of their text's direction", async ({ page }) => {
  await open(page, conversation("محادثة", [["ما هو السعر؟", { content: ARABIC }]]));
  const answer = page.locator('article[data-role="assistant"]');
  const direction = (place: string) => answer.locator(place).first().evaluate((shown) => getComputedStyle(shown).direction);
  for (const place of ["ul", "blockquote", ".table"]) expect(await direction(place), place).toBe("rtl");
  expect(await direction(".code")).toBe("ltr");
  await expect(page.locator(".bubble")).toHaveCSS("direction", "rtl");

  /** Returns the side of its box on which the text of a block begins. */
  const side = (place: string) =>
    answer.locator(place).first().evaluate((block) => {
      const range = document.createRange();
      range.selectNodeContents(block);
      const [words, box] = [range.getBoundingClientRect(), block.getBoundingClientRect()];
      return words.left - box.left < box.right - words.right ? "left" : "right";
    });
  for (const place of ["h3", "p", "li", "td:last-child"]) expect(await side(place), place).toBe("right");
  expect(await side(".part > p:last-child")).toBe("left");

  await test.step("bullets and a quote's line are on that side", async () => {
    const [list, quote] = [answer.locator("ul"), answer.locator("blockquote")];
    expect(await list.evaluate((list) => getComputedStyle(list).paddingRight)).not.toBe("0px");
    expect(await list.evaluate((list) => getComputedStyle(list).paddingLeft)).toBe("0px");
    await expect(quote).toHaveCSS("border-right-width", "3px");
    await expect(quote).toHaveCSS("border-left-width", "0px");
  });

  await test.step("a table is on that side", async () => {
    const [answered, table] = [await boxOf(answer.locator("p").first()), await boxOf(answer.locator("table"))];
    expect(Math.abs(answered.x + answered.width - table.x - table.width)).toBeLessThan(3);
  });

  await test.step("the message field follows the direction of its first letter", async () => {
    const field = page.getByTestId("composer");
    await expect(field).toHaveCSS("direction", "ltr");
    await field.fill("مرحبا");
    await expect(field).toHaveCSS("direction", "rtl");
  });
});

test("a table's accessible name is its column headers", async ({ page }) => {
  const tables = "| City | Price |\n|-|-|\n| Osaka | 1 |\n\n| **Day** | |\n|-|-|\n| 1 | 2 |\n\n| | |\n|-|-|\n| 1 | 2 |";
  await open(page, conversation("Tables", [["Go", { content: tables }]]));
  for (const name of ["Table: City, Price", "Table: Day", "Table"]) {
    await expect(page.getByRole("group", { name, exact: true })).toHaveCount(1);
  }
});
