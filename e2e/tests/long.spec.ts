// A long conversation: it opens at its end, is whole, and is laid out only where it is looked at.

import { call, conversation, open } from "../kit/seed.ts";
import { expect, test } from "../kit/test.ts";

const TURNS = 500;

// A trace would keep a picture of all of it after each step.
test.use({ trace: "off" });

test("a conversation of 1,000 messages with 1,000 tool calls opens at its end and scrolls", async ({ page }) => {
  const turns = Array.from({ length: TURNS }, (_, at): [string, { content: string; calls: ReturnType<typeof call>[] }] => {
    const content = `Working on ${at}.\n\nThe answer to **${at}** is \`${at * 2}\`.\n\n- one\n- two\n`;
    const offset = content.indexOf("\n\nThe");
    return [`Question ${at}`, { content, calls: [call("add", { a: at }, { offset }), call("multiply", { a: at }, { offset })] }];
  });
  await open(page, conversation("Long", turns));
  await expect(page.locator("article")).toHaveCount(2 * TURNS);
  await expect(page.getByTestId("tool-call")).toHaveCount(2 * TURNS);
  await expect(page.getByText(`The answer to ${TURNS - 1} is`)).toBeInViewport();

  const thread = page.locator("#thread");
  await thread.evaluate((area) => area.scrollTo(0, 0));
  await expect(page.getByText("Question 0", { exact: true })).toBeInViewport();
  await expect(page.getByTestId("jump")).toBeVisible();
  await page.getByTestId("jump").click();
  await expect(page.getByText(`The answer to ${TURNS - 1} is`)).toBeInViewport();

  // What is far away takes part in no layout.
  const skipped = await page.locator("article").first().evaluate((article) => getComputedStyle(article).contentVisibility);
  expect(skipped).toBe("auto");
});
