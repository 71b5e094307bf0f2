// Tests the lines of tool calls: what they show, how they are grouped, and their details.

import type { Page } from "@playwright/test";
import { ChatPage, boxOf, mounted, toolCalls } from "../kit/chat.ts";
import { playTurn, playTurnByClock } from "../kit/live.ts";
import { call, conversation, open } from "../kit/seed.ts";
import { expect, test } from "../kit/test.ts";

const group = (page: Page) => page.getByTestId("tool-group");

/** Returns a color of the design in the format of computed styles. */
function color(page: Page, name: string): Promise<string> {
  return page.evaluate((name) => {
    const sample = document.body.appendChild(document.createElement("span"));
    sample.style.color = `var(--${name})`;
    const { color } = getComputedStyle(sample);
    sample.remove();
    return color;
  }, name);
}

test("an opened call shows who decided on it, when, the scope, and the kind of failure", async ({ page }) => {
  const decided = { decided_by: "review", decided_at: "2026-11-01T12:00:00Z" } as const;
  const calls = [
    call("pay", { amount: 5 }, { decision: { ...decided, decision: "approve", decided_by_kind: "user", decided_by_user_id: 1, scope: "always" } }),
    call("pay", { amount: 6 }, {
      status: "denied",
      output: null,
      error: "Reviewing models refused this call, so it did not run.",
      error_type: "denied",
      decision: { ...decided, decision: "deny", decided_by_kind: "review" },
    }),
  ];
  const content = "First. Second.";
  calls[0]!.offset = "First.".length;
  calls[1]!.offset = content.length;
  await open(page, conversation("Payments", [["Pay", { content, calls }]]));
  const lines = page.getByTestId("tool-call");
  await lines.first().click();
  const said = page.getByTestId("decided");
  await expect(said).toContainText("Allowed by you, in all conversations");
  await expect(said.locator("time")).toHaveAttribute("datetime", /^2026-11-01T12:00:00/);
  await lines.last().click();
  await expect(said.last()).toContainText("Denied by the reviewing models");
  await expect(page.getByTestId("error-type")).toHaveText("Error type: denied");
});

test("every status has an icon and a word, and every duration has a unit", async ({ page }) => {
  const states = [
    call("add", { a: 12.5, b: 7.25 }, { duration_ms: 999 }),
    call("divide", { a: 1, b: 0 }, { status: "error", output: null, error: "invalid_b: division by zero", duration_ms: 3456 }),
    call("delete_all", {}, { status: "denied", output: null, duration_ms: 42_000 }),
    call("search", { q: "x" }, { status: "cancelled", output: null, duration_ms: 125_000 }),
    call("mail", { to: "a@b.c" }, { status: "interrupted", output: null, duration_ms: null }),
    call("pay", { amount: 5 }, { status: "awaiting_approval", output: null, duration_ms: null }),
  ];
  // Text between the calls keeps them from being grouped.
  const content = states.map(({ tool_name }) => `Now ${tool_name}.`).join("\n\n");
  for (const state of states) state.offset = content.indexOf(`Now ${state.tool_name}.`) + `Now ${state.tool_name}.`.length;
  await open(page, conversation("States", [["Try all", { content, calls: states }]]));

  const lines = page.getByTestId("tool-call");
  await expect(lines).toHaveCount(states.length);
  const expected = [
    ["done", "999 ms"],
    ["failed", "3.4s"],
    ["denied", "42s"],
    ["cancelled", "2m 5s"],
    ["interrupted", ""],
    ["awaiting approval", ""],
  ];
  for (const [at, [word, duration]] of expected.entries()) {
    const line = lines.nth(at);
    await expect(line.locator(".tool-state")).toHaveText(word!);
    await expect(line.locator(".tool-duration")).toHaveText(duration!);
    await expect(line.locator(".tool-status svg")).toHaveCount(1);
    await expect(line).toHaveAccessibleName(new RegExp(`${states[at]!.tool_name}.*${word}`));
  }
  const icons = lines.locator(".tool-status");
  const marks = await icons.evaluateAll((all) => all.map((icon) => [icon.innerHTML, getComputedStyle(icon).color]));
  const [tick, green] = marks[0]!;
  expect(marks.slice(1).filter(([mark, color]) => mark === tick || color === green), "only finished calls have a tick").toEqual([]);
  await expect(lines.first().locator(".tool-summary")).toHaveText("12.5, 7.25");
  await expect(lines.first().locator(".tool-duration")).toHaveCSS("font-variant-numeric", "tabular-nums");

  await test.step("a call that needs approval is open, and stays closed after the user closes it", async () => {
    await expect(lines.last()).toHaveAttribute("aria-expanded", "true");
    await expect(page.getByText("Needs approval before it runs.")).toBeVisible();
    await lines.last().click();
    await expect(page.getByTestId("tool-call-details")).toHaveCount(0);
  });

  await test.step("a call that a restart interrupted explains that", async () => {
    await lines.nth(4).click();
    await expect(page.getByText("The server restarted during this call. It may have run.")).toBeVisible();
  });
});

test("adjacent finished calls are grouped under one line, which is red if one failed", async ({ page }) => {
  const calls = [
    call("add", { a: 1, b: 2 }),
    call("multiply", { a: 3, b: 4 }),
    call("divide", { a: 1, b: 0 }, { status: "error", output: null, error: "division by zero" }),
  ];
  await open(page, conversation("Fold", [["Go", { content: "Done.", calls }]]));
  const line = group(page);
  await expect(line).toHaveText(/^3 tool calls\s*add, multiply, divide\s*1 failed\s*10s$/);
  await expect(line).toHaveAttribute("aria-expanded", "false");
  await expect(line).toHaveAttribute("data-failed", "");
  await expect(line.locator(".tool-status")).toHaveCSS("color", await color(page, "bad"));
  await expect(toolCalls(page.locator("article").last()).first()).toBeHidden();

  await line.press("Enter");
  await expect(line).toHaveAttribute("aria-expanded", "true");
  await expect(page.getByTestId("tool-call")).not.toHaveCount(0);
  for (const one of await page.getByTestId("tool-call").all()) await expect(one).toBeVisible();
  const controlled = (await line.getAttribute("aria-controls"))!.split(" ");
  expect(controlled).toHaveLength(3);
  for (const id of controlled) await expect(page.locator(`#${id}`)).toBeVisible();
});

test("a group says which of its calls did not run to their end", async ({ page }) => {
  const none = { output: null };
  const calls = [
    call("add", { a: 1, b: 2 }),
    call("multiply", { a: 3, b: 4 }, { status: "denied", ...none }),
    call("divide", { a: 1, b: 2 }, { status: "denied", ...none }),
    call("subtract", { a: 1, b: 2 }, { status: "interrupted", ...none }),
  ];
  await open(page, conversation("Fold", [["Go", { content: "Done.", calls }]]));
  await expect(group(page).locator(".tool-state")).toHaveText("2 denied, 1 interrupted");
  await expect(group(page).locator("path.unfinished")).toHaveCount(3);
});

test("a call that the user opened stays open while calls around it end and are grouped", async ({ page }) => {
  const turn = await playTurn(page);
  const start = (id: number, tool_name: string) =>
    turn.say("tool_call_start", { tool_call_id: id, tool_name, input: { a: id, b: 2 }, offset: 0 });
  const end = (id: number) =>
    turn.say("tool_call_end", { tool_call_id: id, output: String(id), error: null, status: "success", duration_ms: 5 });

  await start(1, "add");
  const first = page.getByTestId("tool-call").first();
  await expect(first.locator(".tool-state")).toHaveText("running");
  const spoken = page.getByRole("status").filter({ hasText: "add: " });
  await expect(spoken).toHaveText("add: running");
  await first.click();
  await end(1);
  await expect(spoken).toHaveText("add: done");
  await start(2, "multiply");
  await expect(first).toHaveAttribute("data-status", "success");
  await expect(group(page)).toHaveCount(0);
  await end(2);
  await expect(group(page)).toHaveText(/2 tool calls\s*add, multiply/);
  await expect(group(page)).toHaveAttribute("aria-expanded", "true");
  await expect(page.getByTestId("tool-call-details")).toBeVisible();
  await expect(first).toBeFocused();

  await group(page).click();
  await start(3, "subtract");
  await end(3);
  await expect(group(page)).toHaveText(/3 tool calls/);
  await expect(group(page), "the user closed it").toHaveAttribute("aria-expanded", "false");
});

test("a slow tool call says so, then turns red with a Stop button", async ({ page }) => {
  const { turn, clock } = await playTurnByClock(page);
  await turn.say("tool_call_start", { tool_call_id: 1, tool_name: "crawl", input: { depth: 9 }, offset: 0 });
  await clock.runFor(100);
  const line = page.getByTestId("tool-call");
  await expect(line.locator(".tool-state")).toHaveText("running");
  await clock.runFor(9_500);
  await expect(line.locator(".tool-duration")).toHaveText("9s");
  await expect(line).not.toHaveAttribute("data-pace");
  await clock.runFor(1_000);
  await expect(line).toHaveAttribute("data-pace", "long");
  await expect(page.getByText("This is taking a while.")).toBeVisible();
  await clock.runFor(20_000);
  await expect(line).toHaveAttribute("data-pace", "very-long");
  await expect(line.locator(".tool-duration")).toHaveCSS("color", await color(page, "bad"));
  await expect(line.locator(".tool-duration")).toHaveText("30s");
  const stopped = page.waitForRequest((request) => request.url().endsWith("/stop"));
  await page.route("**/stop", (route) => route.fulfill({ json: {} }));
  await page.getByTestId("stop-call").click();
  await stopped;

  await turn.say("tool_call_end", { tool_call_id: 1, output: null, error: null, status: "cancelled", duration_ms: 31_000 });
  await clock.runFor(100);
  await expect(line.locator(".tool-state")).toHaveText("cancelled");
  await expect(line.locator(".tool-duration")).toHaveText("31s");
  await expect(page.getByTestId("stop-call")).toHaveCount(0);
});

test("arguments are rows or indented JSON, long outputs are collapsed, and everything can be copied", async ({ page, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const output = "0123456789".repeat(4821);
  const input = { query: "<b>plain</b>", options: { deep: [1, { deeper: true }] } };
  await open(page, conversation("Long", [["Go", { content: "Done.", calls: [call("search", input, { output })] }]]));
  await page.getByTestId("tool-call").click();
  const details = page.getByTestId("tool-call-details");
  await expect(details.getByRole("heading")).toHaveText(["Input", "Output"]);
  await expect(details.locator("dt")).toHaveText(["query", "options"]);
  await expect(details.locator("dd").first()).toHaveText("<b>plain</b>");
  expect(await details.locator("dd").last().innerText()).toContain('{\n  "deep": [\n    1,');

  const all = page.getByTestId("show-all");
  await expect(all).toHaveText("Show all (48,210 characters)");
  const shown = details.locator("pre").last();
  expect((await shown.innerText()).length).toBeLessThan(5_000);

  const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
  await details.getByTestId("copy").last().click();
  await expect.poll(clipboard).toBe(output);
  await details.getByTestId("copy").first().click();
  await expect.poll(async () => JSON.parse(await clipboard())).toEqual(input);

  await all.click();
  expect(await shown.innerText()).toBe(output);
  await expect(all).toHaveCount(0);
});

test("opening a call moves neither the call nor the page, even while the answer grows", async ({ page }) => {
  await page.setViewportSize({ width: 800, height: 500 });
  const turn = await playTurn(page);
  const text = "A line of text.\n\n".repeat(30);
  await turn.say("content_delta", { offset: 0, delta: text });
  const long = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`argument_${at}`, at]));
  await turn.say("tool_call_start", { tool_call_id: 1, tool_name: "add", input: long, offset: text.length });
  await turn.say("tool_call_end", { tool_call_id: 1, output: "3", error: null, status: "success", duration_ms: 5 });
  await turn.say("content_delta", { offset: text.length, delta: "And then" });
  await expect(page.getByText("And then")).toBeInViewport();

  const line = page.getByTestId("tool-call");
  const place = async () => (await boxOf(line)).y;
  const before = await place();
  await line.click();
  await expect(page.getByTestId("tool-call-details")).toBeVisible();
  expect(await place()).toBeCloseTo(before, 0);
  await expect(page.getByTestId("jump")).toBeVisible();
  await turn.say("content_delta", { offset: text.length + 8, delta: " there was more.\n\n".repeat(10) });
  await expect(page.getByText("there was more.").first()).toBeAttached();
  expect(await place()).toBeCloseTo(before, 0);

  await page.getByTestId("jump").click();
  await expect(page.getByText("there was more.").last()).toBeInViewport();
});

test("calls of the demo model are grouped after the answer, also after a reload", async ({ page }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  const answer = await chat.ask("What is (12.5 + 7.25) × 4?");
  await expect(group(page)).toHaveText(/2 tool calls\s*add, multiply/);
  const shown = await answer.innerText();
  await page.reload();
  await mounted(page);
  await expect(page.locator(".message-footer time")).toHaveCount(2);
  expect(await chat.answers.last().innerText()).toBe(shown);

  const calls = page.getByTestId("tool-call");
  await expect(calls, "the details of closed groups are not rendered").toHaveCount(0);
  await group(page).click();
  await expect(calls).toHaveCount(2);
  await group(page).click();
  await expect(calls.first()).toBeHidden();
});
