// Tests that the page keeps scrolling to the newest text unless the user has scrolled up.

import { playTurn } from "../kit/live.ts";
import { expect, test } from "../kit/test.ts";

test("the newest text stays in view until the user scrolls up, and again after the jump", async ({ page }) => {
  await page.setViewportSize({ width: 900, height: 500 });
  const turn = await playTurn(page);
  let offset = 0;
  const write = async (name: string) => {
    const delta = `${"A line of text.\n\n".repeat(20)}${name}\n\n`;
    await turn.say("content_delta", { offset, delta });
    offset += delta.length;
    await expect(page.getByText(name, { exact: true })).toBeAttached();
  };
  for (const name of ["First", "Second", "Third"]) {
    await write(name);
    await expect(page.getByText(name, { exact: true }), "the page follows the text").toBeInViewport();
  }
  await expect(page.getByTestId("jump")).toHaveCount(0);

  const thread = page.locator("#thread");
  const top = () => thread.evaluate((area) => area.scrollTop);
  await thread.hover();
  await page.mouse.wheel(0, -300);
  await expect(page.getByTestId("jump")).toBeVisible();
  await expect(page.getByText("Third", { exact: true })).not.toBeInViewport();
  const read = await top();
  await write("Fourth");
  await write("Fifth");
  expect(await top(), "the text in view does not move").toBe(read);

  await page.getByTestId("jump").press("Enter");
  await expect(page.getByText("Fifth", { exact: true })).toBeInViewport();
  await expect(page.getByTestId("jump")).toHaveCount(0);
  await expect(page.getByTestId("composer"), "the button is gone, and the next key press is not lost").toBeFocused();
  await write("Sixth");
  await expect(page.getByText("Sixth", { exact: true })).toBeInViewport();

  await thread.focus();
  await page.keyboard.press("Home");
  await expect(page.getByTestId("jump")).toBeVisible();
  await page.keyboard.press("End");
  await expect(page.getByTestId("jump"), "End follows, even if text arrives at the same moment").toHaveCount(0);
  for (const name of ["Between", "Again"]) {
    await write(name);
    await expect(page.getByText(name, { exact: true })).toBeInViewport();
  }

  await page.mouse.wheel(0, -300);
  await expect(page.getByTestId("jump")).toBeVisible();
  await page.mouse.wheel(0, 10_000);
  await expect(page.getByTestId("jump"), "scrolling back to the end follows the text again").toHaveCount(0);
  await write("Seventh");
  await expect(page.getByText("Seventh", { exact: true })).toBeInViewport();
});
