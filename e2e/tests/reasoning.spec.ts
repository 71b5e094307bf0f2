// Tests the reasoning that a model shows: one line during and after it, which opens to show the reasoning as plain text.

import { ChatPage, boxOf } from "../kit/chat.ts";
import { gate } from "../kit/model.ts";
import { expect, test } from "../kit/test.ts";

test.use({ scripted: true, settings: { LLM_TITLES: "false" } });

const HOSTILE = "Let me **see** <b>this</b> <script>alert(1)</script>";

test("reasoning is a line that can be opened by keyboard while it streams, and survives a reload", async ({ page, model }) => {
  const [more, answer] = [gate(), gate()];
  model.answer(
    (async function* () {
      yield { thought: HOSTILE };
      await more.opened;
      yield { thought: ", and more." };
      await answer.opened;
      yield "It is **3**.";
    })(),
  );
  const chat = new ChatPage(page);
  await page.goto("/");
  await page.getByTestId("composer").fill("1 + 2?");
  await page.getByTestId("send").click();
  const line = page.getByTestId("thought");
  const words = page.getByTestId("thought-words");
  await expect(line).toContainText("Thinking…");
  await expect(line).toHaveAttribute("aria-expanded", "false");
  await expect(words).toHaveCount(0);
  // No second indicator says the same.
  await expect(page.locator(".thinking")).toHaveCount(0);

  await line.focus();
  await page.keyboard.press("Enter");
  await expect(line).toHaveAttribute("aria-expanded", "true");
  await expect(words).toHaveText(HOSTILE);
  await expect(words.locator("b, script, strong")).toHaveCount(0);
  more.open();
  await expect(words).toHaveText(`${HOSTILE}, and more.`);

  answer.open();
  await expect(chat.answers.first()).toHaveAttribute("data-status", "complete");
  await expect(line).toHaveText(/^Thought for \d/);
  await expect(line).toHaveAttribute("aria-expanded", "true");
  await expect(words).toHaveText(`${HOSTILE}, and more.`);
  const said = await line.innerText();
  await page.keyboard.press("Space");
  await expect(words).toHaveCount(0);

  await page.reload();
  await expect(line).toHaveText(said);
  await expect(line).toHaveAttribute("aria-expanded", "false");
  await line.click();
  await expect(words).toHaveText(`${HOSTILE}, and more.`);
  // The line is above the answer's text, and is not part of it.
  const [lineBox, proseBox] = [await boxOf(line), await boxOf(chat.answers.first().locator("strong"))];
  expect(lineBox.y).toBeLessThan(proseBox.y);
});

test("each step's reasoning keeps its position, and is grouped with the calls around it", async ({ page, model }) => {
  const add = { tool: "add", input: '{"a":1,"b":2}' };
  model.answer([{ thought: "First." }, add]);
  model.answer([{ thought: "Second." }, add]);
  model.answer([{ thought: "Third." }, "It is 3."]);
  const chat = new ChatPage(page);
  await page.goto("/");
  await chat.ask("1 + 2?");
  for (const open of ["heard", "reloaded"]) {
    await test.step(open, async () => {
      const thoughts = page.getByTestId("thought");
      const group = page.getByTestId("tool-group");
      await expect(group).toContainText("2 tool calls");
      await expect(thoughts.nth(0)).toBeVisible();
      await expect(thoughts.nth(1)).toBeHidden();
      await expect(thoughts.nth(2)).toBeVisible();
      await group.click();
      await expect(thoughts.nth(1)).toBeVisible();
      const tops = await page.locator(".tool:visible").evaluateAll((rows) => rows.map((row) => row.id.split("-")[0]));
      expect(tops.filter((kind) => kind !== "group")).toEqual(["thought", "call", "thought", "call", "thought"]);
    });
    if (open === "heard") await page.reload();
  }
});

test("reasoning before Stop is kept", async ({ page, model }) => {
  const never = gate();
  model.answer(
    (async function* () {
      yield { thought: "Well, well" };
      await never.opened;
    })(),
  );
  const chat = new ChatPage(page);
  await page.goto("/");
  await page.getByTestId("composer").fill("1 + 2?");
  await page.getByTestId("send").click();
  const line = page.getByTestId("thought");
  await expect(line).toContainText("Thinking…");
  await page.getByTestId("stop").click();
  await expect(chat.answers.first()).toHaveAttribute("data-status", "stopped");
  for (const reloaded of [false, true]) {
    if (reloaded) await page.reload();
    await expect(line).toHaveText(/^Thought for \d/);
    await line.click();
    await expect(page.getByTestId("thought-words")).toHaveText("Well, well");
  }
  never.open();
});

test.describe("a narrow page in Japanese", () => {
  test.use({ locale: "ja-JP", viewport: { width: 360, height: 700 } });

  test("shows reasoning in Japanese without overflow", async ({ page, model }) => {
    const end = gate();
    model.answer(
      (async function* () {
        yield { thought: `${"考".repeat(200)}${"x".repeat(300)}` };
        await end.opened;
        yield "3です。";
      })(),
    );
    const chat = new ChatPage(page);
    await page.goto("/");
    await page.getByTestId("composer").fill("1 + 2?");
    await page.getByTestId("send").click();
    const line = page.getByTestId("thought");
    await expect(line).toContainText("考えています…");
    end.open();
    await expect(chat.answers.first()).toHaveAttribute("data-status", "complete");
    await expect(line).toContainText("考えました");
    await line.click();
    await expect(page.getByTestId("thought-words")).toBeVisible();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  });
});
