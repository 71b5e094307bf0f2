// Tests planned answers: the list of steps that fills up during the turn, steps that fail, and the contents of steps.

import type { Page } from "@playwright/test";
import { NOTHING, findings } from "../kit/axe.ts";
import { ChatPage } from "../kit/chat.ts";
import { gate } from "../kit/model.ts";
import { call, conversation, open, planned } from "../kit/seed.ts";
import { expect, test } from "../kit/test.ts";

test.use({
  scripted: true,
  settings: { LLM_TITLES: "false" },
  contextOptions: { permissions: ["clipboard-read", "clipboard-write"] },
});

/** Returns the text of a plan as the model writes it. */
function plan(...instructions: string[]): string[] {
  const steps = instructions.map((instruction) => ({ instruction, expected: "A number" }));
  return [JSON.stringify({ success_criteria: "Both results are known.", steps })];
}

/** Returns a step's result that is long enough to pass without a judgment by the model. */
function result(words: string): string {
  return `${words} I checked all of it a second time, with the same result.`;
}

const add = { tool: "add", input: '{"a":1,"b":2}' };

function states(page: Page): Promise<(string | null)[]> {
  return page.getByTestId("plan-step").evaluateAll((steps) => steps.map((step) => step.getAttribute("data-state")));
}

test("a plan fills up step by step, survives a reload, and is above the answer", async ({ page, model }) => {
  const [first, second] = [gate(), gate()];
  model.answer(plan("Add 1 and 2.", "Multiply that by 4."));
  model.answer([add]);
  model.answer(
    (async function* () {
      await first.opened;
      yield result("The sum is 3.");
    })(),
  );
  model.answer(
    (async function* () {
      await second.opened;
      yield result("The product is 12.");
    })(),
  );
  model.answer(["They are **3** and **12**."]);
  const chat = new ChatPage(page);
  await page.goto("/");
  await page.getByTestId("composer").fill("What is 1 + 2, and four times that?");
  const planFirst = page.getByTestId("plan-first");
  await expect(planFirst).toHaveAttribute("aria-pressed", "false");
  await expect(planFirst).toBeEnabled();
  await page.keyboard.press("Tab");
  await expect(page.getByTestId("attach")).toBeFocused();
  await page.keyboard.press("Tab");
  await expect(planFirst).toBeFocused();
  await page.keyboard.press("Space");
  await expect(planFirst).toHaveAttribute("aria-pressed", "true");
  await page.reload();
  await expect(planFirst, "plan mode is stored with the draft").toHaveAttribute("aria-pressed", "true");
  await page.getByTestId("send").click();

  const steps = page.getByTestId("plan-step");
  for (const how of ["heard", "reloaded"]) {
    await test.step(how, async () => {
      await expect.poll(() => states(page)).toEqual(["working", "waiting"]);
      await expect(page.getByTestId("plan-count")).toHaveText("0 of 2 steps done");
      await expect(steps.first().getByTestId("tool-call")).toBeVisible();
      await expect(page.getByTestId("plan-line").nth(1)).toHaveAttribute("aria-expanded", "false");
      await expect(page.getByTestId("stop")).toBeVisible();
    });
    if (how === "heard") await page.reload();
  }
  first.open();
  await expect.poll(() => states(page)).toEqual(["done", "working"]);
  await expect(page.getByTestId("plan-count")).toHaveText("1 of 2 steps done");
  await expect(page.getByText("The sum is 3."), "finished steps are folded").toBeHidden();
  second.open();
  const answer = chat.answers.first();
  await expect(answer).toHaveAttribute("data-status", "complete");

  await page.reload();
  expect(await states(page)).toEqual(["done", "done"]);
  await expect(answer.getByText("They are 3 and 12.")).toBeVisible();
  await expect(steps.getByTestId("tool-call")).toBeHidden();
  await page.getByTestId("plan-line").first().press("Enter");
  await expect(steps.first().getByText("The sum is 3.")).toBeVisible();
  await expect(steps.first().getByTestId("tool-call")).toBeVisible();
  await page.getByTestId("copy-answer").click();
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe("They are **3** and **12**.");
  expect(await findings(page)).toEqual(NOTHING);
});

test("a failed step is retried, and then the plan is revised, each with its reason", async ({ page, model }) => {
  const [again, last] = [gate(), gate()];
  model.answer(plan("Read the page.", "Sum it up."));
  model.answer(["Error: the page is gone."]);
  model.answer(
    (async function* () {
      await again.opened;
      yield "Error: it is still gone.";
    })(),
  );
  model.answer(plan("Read its copy."));
  model.answer(
    (async function* () {
      await last.opened;
      yield result("The copy says 3.");
    })(),
  );
  model.answer(["It says 3."]);
  const chat = new ChatPage(page);
  await page.goto("/");
  await page.getByTestId("plan-first").click();
  await chat.send("What does the page say?");
  const [step, revised] = [page.getByTestId("plan-step").first(), page.getByTestId("plan-anew")];
  await expect(step).toContainText("attempt 2");
  await expect(step.getByTestId("plan-reason")).toContainText("the page is gone");
  again.open();
  for (const how of ["heard", "reloaded"]) {
    await test.step(how, async () => {
      await expect.poll(() => states(page)).toEqual(["failed", "working"]);
      await expect(step.getByTestId("plan-reason")).toContainText("it is still gone");
      // prose-ok: a text of the page
      await expect(revised).toContainText("Plan revised");
      await expect(revised).toContainText("it is still gone");
      await expect(page.getByTestId("plan-count")).toHaveText("0 of 1 step done");
    });
    if (how === "heard") await page.reload();
  }
  last.open();
  await expect(chat.answers.first()).toHaveAttribute("data-status", "complete");
  expect(await states(page)).toEqual(["failed", "done"]);
  await expect(chat.answers.first().getByText("It says 3.")).toBeVisible();
  expect(await findings(page)).toEqual(NOTHING);
});

test("a plan of four steps survives a failing step and a crash in the middle of another", async ({
  page,
  model,
  server,
  tolerated,
}) => {
  tolerated.push(/net::ERR_/);
  const never = gate();
  model.answer(plan("Add 1 and 2.", "Read the page.", "Double what it says.", "Add both."));
  model.answer([add]);
  model.answer([result("The sum is 3.")]);
  model.answer(["Error: the page is gone."]);
  model.answer(["Error: it is still gone."]);
  model.answer(plan("Read its copy.", "Double what it says.", "Add both."));
  model.answer([add]);
  model.answer(
    (async function* () {
      yield "The copy says";
      await never.opened;
    })(),
  );
  const chat = new ChatPage(page);
  await page.goto("/");
  await page.getByTestId("plan-first").click();
  const answer = await chat.send("What is 1 + 2, and twice what the page says?");
  await expect(answer).toContainText("The copy says");
  await expect.poll(() => states(page)).toEqual(["done", "failed", "working", "waiting", "waiting"]);

  await server.kill();
  await expect(page.getByText(/Reconnecting/)).toBeVisible();
  await server.restart();
  await expect(answer).toHaveAttribute("data-status", "interrupted");
  await expect.poll(() => states(page)).toEqual(["done", "failed", "stopped", "skipped", "skipped"]);

  model.answer([result("The copy says 4.")]);
  model.answer([result("Twice that is 8.")]);
  model.answer([result("Together they are 11.")]);
  model.answer(["It is **11**."]);
  await page.getByTestId("continue").click();
  await expect(answer).toHaveAttribute("data-status", "complete");
  expect(await states(page)).toEqual(["done", "failed", "done", "done", "done"]);
  await expect(answer.getByText("It is 11.")).toBeVisible();
  await page.getByTestId("plan-line").nth(2).click();
  await expect(page.getByTestId("plan-step").nth(2).getByTestId("tool-call"), "no call ran twice").toHaveCount(1);
  await expect(page.getByTestId("plan-step").nth(2)).toContainText("The copy says 4.");
});

test("a failed plan is mentioned, and plan mode applies only to the next message", async ({ page, model }) => {
  model.answer(["I would just answer."]);
  model.answer(["I would just answer."]);
  model.answer(["It is 3."]);
  const chat = new ChatPage(page);
  await page.goto("/");
  await page.getByTestId("plan-first").click();
  const answer = await chat.ask("What is 1 + 2?");
  const lacking = page.getByTestId("plan-lacking");
  for (const how of ["heard", "reloaded"]) {
    await test.step(how, async () => {
      await expect(lacking).toHaveText("The model could not make a plan, so it answered without one.");
      await expect(answer).toContainText("It is 3.");
      await expect(page.getByTestId("plan-first")).toHaveAttribute("aria-pressed", "false");
    });
    if (how === "heard") await page.reload();
  }
  model.answer(["You are welcome."]);
  await chat.ask("Thanks");
  await expect(chat.answers.last()).toContainText("You are welcome.");
  await expect(lacking).toHaveCount(1);
});

test("a call that needs a decision is not inside the folded part of its step", async ({ page }) => {
  const pay = call("pay", { amount: 5 }, { status: "awaiting_approval", output: null, duration_ms: null });
  const plan = planned([{ instruction: "Pay the bill.", status: "executing", offset: 0 }, { instruction: "Write it down." }]);
  await open(page, conversation("Bill", [["Pay it", { content: "", status: "awaiting_approval", calls: [pay], plan }]]));
  await expect.poll(() => states(page)).toEqual(["awaiting", "waiting"]);
  await expect(page.getByTestId("consent")).toBeVisible();
  await page.getByTestId("plan-line").first().click();
  await expect(page.getByTestId("consent")).toBeVisible();
  expect(await findings(page)).toEqual(NOTHING);
});
