// Tests a call that waits for approval, from the user's view. Covers who requests what, the choices by mouse and by key, the
// request that is sent, and the result. `approval-live.spec.ts` tests what the server does with a decision.

import { onDecision, openWaiting, pay, ready, resumeTurn, waiting } from "../kit/approval.ts";
import { watchNotifications } from "../kit/notifications.ts";
import { choose } from "../kit/listbox.ts";
import { type Call, call, open } from "../kit/seed.ts";
import { expect, test } from "../kit/test.ts";

const REVIEW = { model: "Sonnet", verdict: "reject", reason: "The amount is high.", duration_ms: 900 };

test("a waiting call shows the requester, the tool and the risk, and is not grouped", async ({ page }) => {
  const one = pay(5);
  one.reviews = [{ ...REVIEW, tool_call_id: one.tool_call_id }];
  const before = [call("add", { a: 1 }), call("add", { a: 2 })];
  await openWaiting(page, waiting(...before, one));
  const card = page.getByTestId("consent");
  await expect(card.getByRole("heading", { level: 3 }).first()).toHaveText("Allow bank · pay to run?");
  await expect(card.locator(".approval-risk")).toContainText("the server “bank”");
  await expect(card.locator(".rows")).toContainText("amount");
  await expect(card.getByTestId("reviews")).toHaveText(/Sonnet\s*rejects\s*The amount is high\./);
  await expect(page.getByTestId("tool-group"), "earlier finished calls are grouped without it").toHaveText(/^2 tool calls/);
  await page.locator("#thread").focus();
  await page.keyboard.press("e");
  await page.keyboard.press("e");
  await expect(card).toBeVisible();
  await expect(page).toHaveTitle("(!) Payments · Tallybook");
  await expect(page.getByTestId("row-waits")).toHaveAccessibleName("Needs your approval");
  await expect(page.getByTestId("consent-note")).toHaveText("1 tool call needs your approval.");
  expect(await page.locator("#thread").evaluate((area) => area.scrollWidth - area.clientWidth)).toBe(0);
});

test("the keys decide if the focus is in the card, and Esc does not deny", async ({ page }) => {
  await page.clock.install();
  const one = pay(5);
  const stored = waiting(one);
  await openWaiting(page, stored);
  const sent = await onDecision(page, (route) => resumeTurn(route, stored, [{ ...one, status: "success", output: "Paid." }]));
  const stops: string[] = [];
  page.on("request", (request) => request.url().endsWith("/stop") && stops.push(request.url()));
  await page.getByTestId("composer").focus();
  await page.keyboard.press("1");
  await expect(page.getByTestId("composer"), "the digit is typed").toHaveValue("1");
  await ready(page);
  await page.keyboard.press("Escape");
  await expect(page.getByTestId("composer"), "the next digit is text, too").toBeFocused();
  await page.getByTestId("composer").blur();
  await page.keyboard.press("1");
  await page.keyboard.press("Escape");
  await expect(page.getByTestId("consent")).toBeFocused();
  expect([sent.length, stops.length]).toEqual([0, 0]);
  await page.keyboard.press("1");
  const answer = page.locator('article[data-role="assistant"]');
  await expect(answer).toHaveAttribute("data-status", "complete");
  await expect(answer, "in the same message").toContainText("Paid.");
  await expect(answer).toHaveCount(1);
  expect(sent[0]!.url()).toContain(`/api/tool-calls/${one.tool_call_id}/decision`);
  expect(sent[0]!.postDataJSON()).toEqual({ decision: "approve" });
  await expect(page.getByTestId("consent")).toHaveCount(0);
  await expect(page).toHaveTitle("Payments · Tallybook");
});

test("saving an approval lets the user choose the scope", async ({ page }) => {
  await page.clock.install();
  const one = pay(5);
  const stored = waiting(one);
  await openWaiting(page, stored);
  const sent = await onDecision(page, (route) => resumeTurn(route, stored, [{ ...one, status: "success", output: "Paid." }]));
  await ready(page);
  const scope = page.getByTestId("scope");
  await scope.click();
  await page.keyboard.press("1");
  await page.keyboard.press("3");
  await page.keyboard.press("Escape");
  await expect(scope).toHaveAttribute("aria-expanded", "false");
  expect(sent, "a digit in the list decides nothing").toHaveLength(0);
  await choose(scope, "always");
  await expect(scope).toHaveText("in all conversations");
  await page.getByTestId("consent").focus();
  await page.keyboard.press("2");
  await expect(page.getByTestId("consent")).toHaveCount(0);
  expect(sent[0]!.postDataJSON()).toEqual({ decision: "approve", remember: "always" });
});

test("denying asks for an optional reason, and keeps its text", async ({ page }) => {
  await page.clock.install();
  const one = pay(5);
  const stored = waiting(one);
  await openWaiting(page, stored);
  const denied = { ...one, status: "denied", error: "A person refused this call, so it did not run: Too much" } as Call;
  const sent = await onDecision(page, (route) => resumeTurn(route, stored, [denied]));
  await ready(page);
  await page.getByTestId("consent").focus();
  await page.keyboard.press("3");
  const reason = page.getByTestId("deny-reason");
  await expect(reason).toBeFocused();
  await expect(page.getByTestId("consent").getByRole("button", { name: "Deny" })).toHaveCount(1);
  await reason.fill("Too much");
  await page.keyboard.press("Escape");
  await expect(reason).toHaveCount(0);
  await expect(page.getByTestId("consent")).toBeFocused();
  expect(sent).toEqual([]);
  await page.getByTestId("new-chat").click();
  await expect(page.getByTestId("consent")).toHaveCount(0);
  await page.locator('[href^="/c/"]').first().click();
  await page.getByTestId("deny").click();
  await expect(reason).toHaveValue("Too much");
  await expect(reason).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.getByTestId("tool-call")).toHaveAttribute("data-status", "denied");
  expect(sent[0]!.postDataJSON()).toEqual({ decision: "deny", reason: "Too much" });
  await page.getByTestId("tool-call").click();
  await expect(page.getByTestId("tool-call-details")).toContainText("Too much");
});

test("the input can be edited, and invalid JSON is reported with its position", async ({ page }) => {
  const one = pay(5);
  const stored = waiting(one);
  await openWaiting(page, stored);
  const changed = { ...one, status: "success", output: "Paid.", input: { amount: 4 }, proposed_input: one.input } as Call;
  const sent = await onDecision(page, (route) => resumeTurn(route, stored, [changed]));
  await page.getByTestId("change-input").click();
  const field = page.getByTestId("input-field");
  await expect(field).toBeFocused();
  await expect(field).toHaveValue('{\n  "amount": 5,\n  "to": "Ada"\n}');
  await field.fill('{\n  "amount": 4,\n}');
  await expect(page.locator(".approval-flaw")).toHaveText("This is not valid JSON: line 3, column 1");
  await expect(page.getByTestId("allow-once")).toBeDisabled();
  await expect(page.getByTestId("deny")).toBeEnabled();
  await field.fill("[4]");
  await expect(page.locator(".approval-flaw")).toContainText("one JSON object");
  await field.fill('{"amount": 4.00000000000000000001}');
  await expect(page.locator(".approval-flaw")).toBeEmpty();
  await page.getByTestId("allow-once").click();
  await expect(page.getByTestId("tool-call")).toHaveAttribute("data-status", "success");
  expect(sent[0]!.postData()).toBe('{"decision":"approve","input":{"amount": 4.00000000000000000001}}');
  await page.getByTestId("tool-call").click();
  const details = page.getByTestId("tool-call-details");
  await expect(details.getByRole("heading", { name: "Input proposed by the model" })).toBeVisible();
  await expect(details.getByRole("heading", { name: "Input, edited by you" })).toBeVisible();
});

test("several calls can be decided one by one or together", async ({ page }) => {
  const [one, other, third] = [pay(5), pay(6), pay(7)];
  const stored = waiting(one, other, third);
  // Two cards do not fit.
  await page.setViewportSize({ width: 1280, height: 600 });
  await openWaiting(page, stored);
  await expect(page.getByTestId("consent-note")).toHaveText("3 tool calls need your approval.");
  await expect(page.getByTestId("consent").nth(0).locator("kbd"), "the keys belong to the first card").toHaveCount(3);
  await expect(page.getByTestId("consent").nth(1).locator("kbd")).toHaveCount(0);
  const ended = [one, other, third].map((each) => ({ ...each, status: "success", output: "Paid." }) as Call);
  const sent = await onDecision(page, (route) => {
    if (route.request().url().endsWith("decisions")) return resumeTurn(route, stored, ended);
    Object.assign(one, { status: "denied", error: "A person refused this call." });
    return route.fulfill({ json: one });
  });
  await page.getByTestId("consent").first().getByTestId("deny").click();
  await page.getByTestId("deny-now").press("Enter");
  await expect(page.getByTestId("consent")).toHaveCount(2);
  await expect(page.getByTestId("consent").first(), "the keys belong to the next card").toBeFocused();
  await expect(page.getByTestId("allow-all"), "the last card was not in view").toBeDisabled();
  for (const edge of await page.locator(".approval-edge").all()) await edge.evaluate((edge) => edge.scrollIntoView());
  await page.getByTestId("allow-all").click();
  await expect(page.locator('article[data-role="assistant"]')).toHaveAttribute("data-status", "complete");
  const decisions = [other, third].map(({ tool_call_id }) => ({ tool_call_id, decision: "approve" }));
  expect(sent[1]!.postDataJSON()).toEqual({ decisions });
});

for (const [type, words] of [
  ["already_decided", "it was approved by Ada"],
  ["tool_changed", "Its description is now: Pays twice."],
] as const) {
  test(`a refused decision shows the error and the current state (${type})`, async ({ page, tolerated }) => {
    tolerated.push(/Failed to load resource/);
    const one = pay(5);
    const stored = waiting(one);
    await openWaiting(page, stored);
    await onDecision(page, (route) => {
      if (type === "already_decided") {
        Object.assign(one, { status: "success", output: "Paid." });
        Object.assign(stored.messages.at(-1)!, { status: "complete" });
      }
      const problem = { type: `/problems/${type}`, title: "No", status: 409, detail: words, request_id: "1" };
      return route.fulfill({ status: 409, contentType: "application/problem+json", json: problem });
    });
    await page.getByTestId("allow-once").click();
    await expect(page.getByTestId("notice")).toHaveText(words);
    await expect(page.getByTestId("consent")).toHaveCount(type === "already_decided" ? 0 : 1);
  });
}

test("messages that are sent meanwhile are queued, and Stop ends the turn", async ({ page }) => {
  const one = pay(5);
  const stored = waiting(one);
  await openWaiting(page, stored);
  await expect(page.locator("#composer-hint")).toContainText("Allow or deny the tool call above first");
  await page.getByTestId("composer").fill("And Grace?");
  await page.getByTestId("send").click();
  await expect(page.getByTestId("queued")).toHaveText(/And Grace\?/);
  await page.route("**/stop", (route) => {
    Object.assign(one, { status: "denied", error: "The answer was stopped." });
    Object.assign(stored.messages.at(-1)!, { status: "stopped" });
    return route.fulfill({ status: 202, body: "" });
  });
  await page.getByTestId("stop").click();
  await expect(page.locator('article[data-role="assistant"]')).toHaveAttribute("data-status", "stopped");
  await expect(page.getByTestId("consent")).toHaveCount(0);
  await expect(page.getByTestId("queued"), "the message waits for the user").toHaveCount(1);
});

test("a hidden tab shows in its title that a decision is needed, and optionally as a system notification", async ({ page }) => {
  const shown = await watchNotifications(page, "granted");
  const stored = waiting(pay(5));
  const answer = stored.messages.at(-1)!;
  Object.assign(answer, { status: "streaming" });
  stored.active_message_id = answer.id;
  await page.route("**/api/conversations/*/events", () => {});
  await open(page, stored);
  await page.keyboard.press("Control+/");
  await page.getByTestId("notifications").check();
  await page.keyboard.press("Escape");
  await expect(page.getByTestId("consent"), "other calls of its step still run").toContainText("You can allow or deny this call when");
  await expect(page.getByTestId("allow-once")).toBeDisabled();
  await page.evaluate(() => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => true });
    document.dispatchEvent(new Event("visibilitychange", { bubbles: true }));
  });
  Object.assign(answer, { status: "awaiting_approval" });
  stored.active_message_id = null;
  await expect(page, "the page polls every few seconds").toHaveTitle(/^\(!\) Payments/, { timeout: 25_000 });
  await expect.poll(shown).toEqual(["Approval needed: Payments · Tallybook"]);
  await expect(page.getByTestId("allow-once")).toBeEnabled();
});

test("saved approvals are listed and can be revoked", async ({ page }) => {
  const approval = { id: 7, tool_name: "bank__pay", scope: "always", tool_call_id: 1, decided_by: "Ada", created_at: "2026-11-01T12:00:00Z" };
  const here = { ...approval, id: 8, scope: "conversation", conversation_id: "00000000-0000-4000-8000-000000000001" };
  await page.route("**/api/approvals", (route) => route.fulfill({ json: { items: [approval, here], next_cursor: null } }));
  const revoked: string[] = [];
  await page.route("**/api/approvals/*", (route) => {
    revoked.push(`${route.request().method()} ${new URL(route.request().url()).pathname}`);
    return route.fulfill({ status: 204 });
  });
  await page.goto("/settings");
  await expect(page.getByTestId("approval")).toHaveText([/bank · pay in all conversations/, /bank · pay in one conversation/]);
  await page.getByTestId("revoke").first().click();
  await expect(page.getByTestId("approval")).toHaveCount(1);
  expect(revoked).toEqual(["DELETE /api/approvals/7"]);
});
