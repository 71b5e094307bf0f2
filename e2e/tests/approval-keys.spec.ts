// Tests that a key decides only on the card with the focus, with a new key press, and after a short delay.

import { onDecision, openWaiting, pay, ready, resumeTurn, waiting } from "../kit/approval.ts";
import type { Call } from "../kit/seed.ts";
import { expect, test } from "../kit/test.ts";

test.beforeEach(async ({ page }) => page.clock.install());

test("keys outside the card, held keys and early keys do not decide", async ({ page }) => {
  const one = pay(5);
  const stored = waiting(one);
  await openWaiting(page, stored);
  const sent = await onDecision(page, (route) => resumeTurn(route, stored, [{ ...one, status: "success", output: "Paid." }]));
  await ready(page);
  await page.locator("#thread").focus();
  await page.keyboard.press("1");
  const card = page.getByTestId("consent");
  await card.focus();
  await card.evaluate((card) => card.dispatchEvent(new KeyboardEvent("keydown", { key: "1", repeat: true, bubbles: true })));
  await card.evaluate((card) => card.dispatchEvent(new KeyboardEvent("keydown", { key: "1", isComposing: true, bubbles: true })));
  await expect(page.getByTestId("allow-once"), "no decision is being sent").toBeEnabled();
  expect(sent).toEqual([]);
  await card.focus();
  await page.keyboard.press("1");
  await expect(card).toHaveCount(0);
  expect(sent).toHaveLength(1);
});

test("a second key press does not decide the next card, and types nothing", async ({ page }) => {
  const [one, other] = [pay(5), pay(6)];
  const stored = waiting(one, other);
  await openWaiting(page, stored);
  const sent = await onDecision(page, (route) => {
    const id = Number(/tool-calls\/(\d+)/.exec(route.request().url())![1]);
    const decided = id === one.tool_call_id ? one : other;
    Object.assign(decided, { status: decided === one ? "pending" : "success" });
    return decided === one ? route.fulfill({ json: one }) : resumeTurn(route, stored, [one, other].map((each) => ({ ...each, status: "success" }) as Call));
  });
  await ready(page);
  await page.clock.pauseAt(Date.now() + 60_000);
  const cards = page.getByTestId("consent");
  await cards.first().focus();
  await page.keyboard.press("1");
  await expect.poll(async () => {
    await page.clock.runFor(16);
    return cards.count();
  }).toBe(1);
  await cards.focus();
  await page.keyboard.press("1");
  expect(sent).toHaveLength(1);
  await expect(cards).toHaveCount(1);
  await page.clock.runFor(1000);
  await page.keyboard.press("1");
  await expect.poll(() => sent.length).toBe(2);
  await page.clock.resume();
  await expect(cards).toHaveCount(0);
  await page.keyboard.press("1");
  await expect(page.getByTestId("composer"), "no field has the focus").toHaveValue("");
  await expect(page.getByTestId("composer")).not.toBeFocused();
});

test("the held key that asks for a reason types nothing", async ({ page }) => {
  await openWaiting(page, waiting(pay(5)));
  await ready(page);
  await page.getByTestId("consent").focus();
  await page.keyboard.down("3");
  const reason = page.getByTestId("deny-reason");
  await expect(reason).toBeFocused();
  await page.keyboard.down("3");
  await page.keyboard.down("3");
  await page.keyboard.up("3");
  await expect(reason).toHaveValue("");
  await page.keyboard.type("33");
  await expect(reason).toHaveValue("33");
});

test("the written reason is sent with Deny all", async ({ page }) => {
  const [one, other] = [pay(5), pay(6)];
  const stored = waiting(one, other);
  await openWaiting(page, stored);
  const sent = await onDecision(page, (route) => resumeTurn(route, stored, [one, other].map((each) => ({ ...each, status: "denied" }) as Call)));
  await page.getByTestId("deny").first().click();
  await page.getByTestId("deny-reason").fill("Too much");
  await page.getByTestId("deny-all").click();
  await expect.poll(() => sent.length).toBe(1);
  expect(sent[0]!.postDataJSON().decisions).toEqual([
    { tool_call_id: one.tool_call_id, decision: "deny", reason: "Too much" },
    { tool_call_id: other.tool_call_id, decision: "deny" },
  ]);
});

test("the card that the keys act on is in view", async ({ page }) => {
  await page.setViewportSize({ width: 700, height: 420 });
  const calls = [pay(5), pay(6), pay(7)];
  await openWaiting(page, waiting(...calls));
  const cards = page.getByTestId("consent");
  await expect(cards.first()).toBeInViewport();
  await expect(cards.first().locator("kbd")).toHaveCount(3);
  await expect(cards.last()).not.toBeInViewport();
});
