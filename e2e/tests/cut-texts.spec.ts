// Tests tool calls whose texts are truncated in messages: the page shows the beginning, and loads the rest on request.

import type { Page, Route } from "@playwright/test";
import { ChatPage, alive, toolCalls } from "../kit/chat.ts";
import { gate } from "../kit/model.ts";
import { type Call, call, conversation, cut, open } from "../kit/seed.ts";
import { expect, test } from "../kit/test.ts";

test.use({ scripted: true, settings: { LLM_TITLES: "false" } });

// Lines of different lengths, with markup that must remain text.
const OUTPUT = Array.from({ length: 10_000 }, (_, at) => `${at}: <b>not bold</b> ${"=".repeat(at % 20)}`).join("\n").slice(0, 300_000);

const details = (page: Page) => page.getByTestId("tool-call-details");
const showAll = (page: Page) => page.getByTestId("show-all");
const clipboard = (page: Page) => page.evaluate(() => navigator.clipboard.readText());

/**
 * Opens a conversation with this call, truncated, and opens the call. `answer` responds to requests for the full call. The returned
 * function counts these requests.
 */
async function openCall(page: Page, whole: Call, answer: (route: Route) => Promise<void>): Promise<() => number> {
  let asked = 0;
  await page.route(`**/api/tool-calls/${whole.tool_call_id}`, (route) => {
    asked += 1;
    return answer(route);
  });
  await open(page, conversation("Long", [["Go", { content: "Done.", calls: [cut(whole)] }]]));
  await page.getByTestId("tool-call").click();
  return () => asked;
}

test("the rest of an output of 300 KB is loaded once, shown and copied", async ({ page, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const whole = call("search", { query: "all" }, { output: OUTPUT });
  const { opened, open: answer } = gate();
  const asked = await openCall(page, whole, async (route) => {
    await opened;
    await route.fulfill({ json: whole });
  });
  await expect(details(page).locator("dt"), "the input is whole").toHaveText(["query"]);
  const output = page.getByRole("group", { name: "Output" });
  await expect(showAll(page)).toHaveText("Show all (300 kB)");
  const beginning = (await output.locator("pre").textContent())!;
  expect(beginning).toHaveLength(4_000);
  expect(OUTPUT.startsWith(beginning)).toBe(true);
  expect(asked(), "the full text was not requested yet").toBe(0);

  await test.step("it works by keyboard, and screen readers announce the result", async () => {
    await showAll(page).press("Enter");
    await expect(output.getByRole("status")).toHaveText("Loading the rest…");
    await expect(page.locator("[aria-busy=true] [role=status]"), "live regions inside a busy element are not announced until it is done").toHaveCount(0);
    await expect(showAll(page)).toHaveText("Loading the rest…");
    await expect(showAll(page)).toBeFocused();
    await showAll(page).press("Enter");
    answer();
    await expect(showAll(page)).toHaveCount(0);
    await expect(output, "the focus is not lost with the button").toBeFocused();
    expect(await output.locator("pre").textContent()).toBe(OUTPUT);
    await expect(output.locator("pre b")).toHaveCount(0);
  });

  await test.step("the full output is copied", async () => {
    await details(page).getByTestId("copy").last().click();
    await expect.poll(() => clipboard(page)).toBe(OUTPUT);
  });

  await test.step("the output is still loaded when the call is opened again", async () => {
    await page.getByTestId("tool-call").click();
    await page.getByTestId("tool-call").click();
    await expect(showAll(page)).toHaveText("Show all (300,000 characters)");
    await showAll(page).click();
    expect(await output.locator("pre").textContent()).toBe(OUTPUT);
    expect(asked()).toBe(1);
  });
});

test("copying loads the rest of the output", async ({ page, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const whole = call("search", { query: "all" }, { output: OUTPUT });
  const asked = await openCall(page, whole, (route) => route.fulfill({ json: whole }));
  const copy = details(page).getByTestId("copy").last();
  await page.evaluate(() => navigator.clipboard.writeText("something else"));
  await copy.click();
  await expect(copy).toHaveAttribute("data-copied", "");
  expect(await clipboard(page)).toBe(OUTPUT);
  await expect(showAll(page), "copied is not shown").toHaveText("Show all (300,000 characters)");
  expect(asked()).toBe(1);
});

test("a failed request shows what to do, and can be retried", async ({ page, tolerated }) => {
  tolerated.push(/net::ERR_|404/);
  const whole = call("search", { query: "all" }, { output: OUTPUT });
  const answers: ((route: Route) => Promise<void>)[] = [
    (route) => route.abort(),
    (route) => route.fulfill({ status: 404, json: { type: "/problems/no-such-tool-call", detail: "No." } }),
    (route) => route.fulfill({ json: whole }),
  ];
  await openCall(page, whole, (route) => answers.shift()!(route));
  const problem = page.getByTestId("show-all-problem");
  await showAll(page).click();
  await expect(problem).toHaveText("The server cannot be reached. Check your connection, then try again.");
  await expect(problem).toHaveRole("alert");
  await expect(showAll(page)).toHaveText("Try again");
  await showAll(page).click();
  await expect(problem).toHaveText("The rest of this tool call was not found. Its conversation may have been deleted.");
  await showAll(page).click();
  // The error message disappears while the rest is loading.
  const output = page.getByRole("group", { name: "Output" }).locator("pre");
  await expect.poll(() => output.textContent()).toBe(OUTPUT);
  await expect(problem).toHaveCount(0);
});

test("a truncated input is shown as text, and a complete one as arguments", async ({ page }) => {
  const whole = call("search", { query: "long ".repeat(20_000), limit: 5 });
  await openCall(page, whole, (route) => route.fulfill({ json: whole }));
  const input = page.getByRole("group", { name: "Input" });
  await expect(input.locator("dt")).toHaveCount(0);
  await expect(input.locator("pre")).toContainText(/^\{"query":"long long/);
  await expect(page.getByTestId("tool-call").locator(".tool-summary")).toContainText('{"query":"long long');
  await expect(showAll(page)).toHaveText("Show all (100 kB)");
  await showAll(page).click();
  await expect(input.locator("dt")).toHaveText(["query", "limit"]);
  await expect(showAll(page), "the full text was requested already").toHaveCount(0);
  expect(await input.locator("dd").first().textContent()).toBe("long ".repeat(20_000));
});

test("an input of 200 KB is truncated live and after a reload, and the server has all of it", async ({ page, context, model }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const written = JSON.stringify({ a: "1".repeat(200_000), b: 2 });
  model.answer(["Let me add.", { tool: "add", input: written }]);
  model.answer(["That was too long."]);
  const chat = new ChatPage(page);
  await page.goto("/");
  const answer = await chat.ask("Add these");
  await expect(answer.locator(".prose")).toHaveText(["Let me add.", "That was too long."]);
  for (const when of ["live", "reloaded"]) {
    await expect(toolCalls(answer), when).toHaveCount(1);
    await toolCalls(answer).click();
    await expect(showAll(page), when).toHaveText("Show all (200 kB)");
    await details(page).getByTestId("copy").first().click();
    await expect.poll(() => clipboard(page), when).toBe(written);
    await showAll(page).first().click();
    await expect(details(page).locator("dt"), when).toHaveText(["a", "b"]);
    await page.evaluate(() => navigator.clipboard.writeText("nothing"));
    await page.reload();
    await alive(page);
  }
});

test("an empty line separates the texts of two steps, on the page and in copied text", async ({ page, context, model }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  model.answer(["Let me see.", { tool: "add", input: '{"a":2,"b":3}' }]);
  model.answer([{ tool: "add", input: '{"a":5,"b":0}' }]);
  model.answer(["Done with ", "five."]);
  const chat = new ChatPage(page);
  await page.goto("/");
  const answer = await chat.ask("Two and three");
  for (const when of ["live", "reloaded"]) {
    await expect(answer.locator(".prose"), when).toHaveText(["Let me see.", "Done with five."]);
    await expect(answer.getByTestId("tool-group"), when).toHaveText(/2 tool calls/);
    await answer.getByTestId("copy-answer").click();
    await expect.poll(() => clipboard(page), when).toBe("Let me see.\n\nDone with five.");
    await page.evaluate(() => navigator.clipboard.writeText("nothing"));
    await page.reload();
    await alive(page);
  }
});
