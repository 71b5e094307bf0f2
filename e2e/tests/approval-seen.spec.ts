// Tests that a card shows what runs: hidden characters appear as codes, and an input can be allowed only after all of it was visible.

import type { Page } from "@playwright/test";
import { boxOf } from "../kit/chat.ts";
import { NOTHING, findings } from "../kit/axe.ts";
import { onDecision, openWaiting, pay, resumeTurn, waiting } from "../kit/approval.ts";
import { type Call, call, conversation, open } from "../kit/seed.ts";
import { expect, test } from "../kit/test.ts";

const SPOOFED = "ann@example.org\u200b.evil.example";

function send(input: object): Call {
  return call("mail__send", input, { status: "awaiting_approval", output: null, duration_ms: null });
}

/** Scrolls to the end of the first card's input, as the user's mouse wheel does. */
async function scrollToEnd(page: Page): Promise<void> {
  await page.getByTestId("consent").first().locator(".approval-edge").last().evaluate((edge) => edge.scrollIntoView());
}

test("invisible characters are codes on the card, and the warning names them", async ({ page }) => {
  const input = { to: SPOOFED, "sub\u202eject": "hi\u{e0041}\u{e0042}", body: `fine${"\n".repeat(300)}rm -rf /`, note: "שלום 👨‍👩‍👧 ok" };
  await openWaiting(page, waiting(send(input)));
  const card = page.getByTestId("consent");
  await expect(card.locator(".rows")).toContainText("ann@example.org⟨U+200B⟩.evil.example");
  await expect(card.locator(".rows")).toContainText("sub⟨U+202E⟩ject");
  await expect(card.locator(".rows")).toContainText("hi⟨U+E0041⟩⟨U+E0042⟩");
  await expect(card.locator(".rows")).toContainText(/fine\s*⟨299 blank lines⟩\s*rm -rf \//);
  await expect(card.locator(".rows")).toContainText("שלום 👨‍👩‍👧 ok");
  const warning = card.getByTestId("hidden-characters");
  for (const named of ["1 text direction control", "1 invisible character", "2 hidden tag characters"]) {
    await expect(warning).toContainText(named);
  }
  expect(await card.innerText(), "no invisible character remains").not.toMatch(/[\u200b\u202e\u{e0041}]/u);
  await page.getByTestId("change-input").click();
  await expect(page.getByTestId("input-field")).toHaveValue(/ann@example\.org\\u200b\.evil\.example/);
  expect(await findings(page)).toEqual(NOTHING);
});

test("ordinary emoji and right-to-left text cause no warning", async ({ page }) => {
  await openWaiting(page, waiting(send({ to: "مريم", text: "👩🏽‍💻 ❤️ 1️⃣ می‌خواهم" })));
  await expect(page.getByTestId("consent").locator(".rows")).toContainText("👩🏽‍💻 ❤️ 1️⃣ می‌خواهم");
  await expect(page.getByTestId("hidden-characters")).toHaveCount(0);
});

test("a copied text has every character", async ({ page, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const input = { to: SPOOFED };
  await openWaiting(page, waiting(send(input)));
  await page.getByTestId("consent").getByRole("button", { name: "Copy" }).click();
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(JSON.stringify(input));
});

test("lines and details of finished calls show codes, too", async ({ page }) => {
  const over = call("mail__send", { to: SPOOFED }, { output: "sent\u202e to all" });
  await open(page, conversation("Sent", [["Send", { content: "Done.", calls: [over] }]]));
  const line = page.getByTestId("tool-call");
  await expect(line).toContainText("ann@example.org⟨U+200B⟩.evil.example");
  await expect(line).toContainText("sent⟨U+202E⟩ to all");
  await line.click();
  const details = page.getByTestId("tool-call-details");
  await expect(details.getByTestId("hidden-characters")).toHaveCount(2);
  await expect(details).toContainText("sent⟨U+202E⟩ to all");
});

test("a card that fits on the screen can be decided at once, and a folded one is shown first", async ({ page }) => {
  await page.clock.install();
  const [short, long] = [pay(5), send({ text: `${"word ".repeat(1000)}rm -rf /` })];
  const stored = waiting(short);
  await openWaiting(page, stored);
  await expect(page.getByTestId("allow-once")).toBeEnabled();
  await expect(page.getByTestId("show-input")).toHaveCount(0);

  await page.goto("about:blank");
  const sent = await onDecision(page, (route) => resumeTurn(route, folded, [{ ...long, status: "success", output: "Sent." }]));
  const folded = waiting(long);
  await openWaiting(page, folded);
  const card = page.getByTestId("consent");
  const [allow, unseen] = [page.getByTestId("allow-once"), page.getByTestId("show-input")];
  for (const name of ["allow-once", "allow-from-now-on"]) {
    await expect(page.getByTestId(name)).toBeDisabled();
    await expect(page.getByTestId(name)).toHaveAccessibleDescription("Show the full input first");
  }
  await expect(page.getByTestId("deny"), "denying does not require reading").toBeEnabled();
  await page.clock.fastForward(1000);
  await card.focus();
  await page.keyboard.press("1");
  await expect(card).not.toContainText("rm -rf /");
  await unseen.press("Enter");
  await expect(card.getByTestId("show-all"), "nothing is folded").toHaveCount(0);
  await expect(card.locator(".tool-text"), "the next key scrolls on").toBeFocused();
  await expect(card).toContainText("rm -rf /");
  expect(sent).toEqual([]);
  await scrollToEnd(page);
  await expect(unseen).toHaveCount(0);
  await allow.click();
  await expect.poll(() => sent.length).toBe(1);
});

test("an input that was not scrolled through cannot be allowed, alone or with Allow all", async ({ page }) => {
  const tall = send({ text: Array.from({ length: 80 }, (_, line) => `line ${line}`).join("\n") });
  const other = pay(5);
  const stored = waiting(tall, other);
  await openWaiting(page, stored);
  const ended = [tall, other].map((each) => ({ ...each, status: "success", output: "Done." }) as Call);
  const sent = await onDecision(page, (route) => resumeTurn(route, stored, ended));
  const all = page.getByTestId("allow-all");
  await expect(page.getByTestId("allow-once").first()).toBeDisabled();
  await expect(all).toBeDisabled();
  await expect(all).toHaveAccessibleDescription(/Show the full input of each call/);
  await all.dispatchEvent("click");
  await scrollToEnd(page);
  await expect(page.getByTestId("allow-once").first()).toBeEnabled();
  await page.getByTestId("consent").last().scrollIntoViewIfNeeded();
  await expect(all).toBeEnabled();
  expect(sent).toEqual([]);
  await all.click();
  await expect.poll(() => sent.length).toBe(1);
  expect(sent[0]!.postDataJSON().decisions).toHaveLength(2);
});

test("Allow all is disabled while an input is edited", async ({ page }) => {
  const [one, other] = [pay(5), pay(6)];
  // Both cards fit.
  await page.setViewportSize({ width: 1280, height: 1000 });
  await openWaiting(page, waiting(one, other));
  const all = page.getByTestId("allow-all");
  await expect(all).toBeEnabled();
  await page.getByTestId("change-input").first().click();
  await expect(all).toBeDisabled();
  await page.getByTestId("input-field").fill('{"amount": 4');
  await expect(all).toBeDisabled();
  await page.getByTestId("leave-input").click();
  await expect(all).toBeEnabled();
});

for (const [name, width, height] of [["a phone", 390, 700], ["400 % zoom", 320, 256]] as const) {
  test(`a card is readable and its buttons are reachable on ${name}`, async ({ page }) => {
    await page.setViewportSize({ width, height });
    await openWaiting(page, waiting(pay(5), pay(6)));
    const thread = await boxOf(page.locator("#thread"));
    expect(thread.height, "enough space to read").toBeGreaterThan(height / 2);
    const first = page.getByTestId("consent").first();
    await expect(first.getByRole("heading", { level: 3 }).first(), "the first card is in view").toBeInViewport();
    for (const edge of await first.locator(".approval-edge").all()) await edge.evaluate((edge) => edge.scrollIntoView());
    await expect(first.getByTestId("show-input")).toHaveCount(0);
    await page.locator("#thread").evaluate((area) => area.scrollBy(0, -20));
    for (const button of ["allow-once", "deny"]) {
      await first.getByTestId(button).scrollIntoViewIfNeeded();
      // A trial click fails if another element covers the button.
      await first.getByTestId(button).click({ trial: true });
    }
    await expect(page.getByTestId("jump"), "nothing covers the buttons").toHaveCount(0);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
  });
}

test("on a phone, the decisions stay in view beside the input, and take the place of the note", async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 760 });
  await openWaiting(page, waiting(send({ to: "ann@example.org", text: "- a point\n".repeat(9) })));
  await expect(page.getByTestId("show-input")).toHaveCount(0);
  for (const name of ["allow-once", "deny", "allow-from-now-on"]) {
    await expect(page.getByTestId(name)).toBeInViewport({ ratio: 1 });
  }
  await expect(page.getByTestId("show-calls")).toHaveCount(1);
  await expect(page.getByTestId("show-calls")).toBeHidden();
  await expect(page.getByTestId("consent-note")).toHaveText("1 tool call needs your approval.");
  // The buttons stay while the user scrolls to the beginning of the card.
  await page.setViewportSize({ width: 390, height: 560 });
  await page.locator("#thread").evaluate((thread) => thread.scrollTo(0, 0));
  const card = page.getByTestId("consent");
  await expect(card, "the card is higher than the view").not.toBeInViewport({ ratio: 0.95 });
  await page.getByTestId("deny").click({ trial: true });
  await page.getByTestId("allow-from-now-on").click({ trial: true });
  expect(await findings(page)).toEqual(NOTHING);
});
