// axe on every view, light and dark.

import AxeBuilder from "@axe-core/playwright";
import type { Page } from "@playwright/test";
import { scriptTurn, started, stopClock } from "../kit/live.ts";
import { call, conversation, open } from "../kit/seed.ts";
import { expect, test } from "../kit/test.ts";

const CALLS = [
  call("add", { a: 1, b: 2 }),
  call("search", { query: "x", options: { deep: true } }, { output: "long ".repeat(2000) }),
  call("divide", { a: 1, b: 0 }, { status: "error", output: null, error: "invalid_b: division by zero" }),
  call("mail", {}, { status: "interrupted", output: null, duration_ms: null }),
  call("drop", {}, { status: "denied", output: null }),
  call("wait", {}, { status: "cancelled", output: null }),
  call("pay", { amount: 5 }, { status: "awaiting_approval", output: null, duration_ms: null }),
];
const MARKDOWN = [
  "Some *prose* with a [link](https://example.com) and `code`.",
  "- [x] done\n- [ ] open",
  "| a | b |\n|-|-|\n| 1 | 2 |",
  "> quoted",
  "```rust\nfn main() {}\n```",
].join("\n\n");
const USAGE = { input_tokens: 1200, output_tokens: 300, cached_tokens: 0 };

/** How to come to each view. */
const VIEWS: Record<string, (page: Page) => Promise<void>> = {
  "a new chat": async (page) => {
    await page.goto("/");
    await expect(page.getByTestId("composer")).toBeEnabled();
  },
  "a conversation with open calls": async (page) => {
    await open(page, conversation("Sums", [["What is it?", { content: MARKDOWN, calls: CALLS, usage: USAGE }]]));
    await page.getByTestId("tool-group").click();
    for (const line of await page.getByTestId("tool-call").all()) {
      if ((await line.getAttribute("aria-expanded")) === "false") await line.click();
    }
  },
  "an answer under way": async (page) => {
    const turn = await scriptTurn(page);
    const clock = await stopClock(page);
    await page.getByTestId("composer").fill(started.content);
    await page.getByTestId("send").click();
    await turn.say("message_start", started);
    await turn.say("tool_call_start", { tool_call_id: 1, tool_name: "crawl", input: { depth: 9 }, offset: 0 });
    await clock.runFor(100);
    await expect(page.getByTestId("tool-call")).toBeVisible();
    await clock.runFor(31_000);
    await page.clock.resume();
    await expect(page.getByTestId("stop-call")).toBeVisible();
  },
  errors: async (page) => {
    const failed = { content: "", status: "failed", error: "The provider refused the key. Check it." };
    const stopped = { content: "So far", status: "stopped" };
    await open(page, conversation("Errors", [["One", failed], ["Two", stopped], ["Three", { content: "" }]]));
    await page.route("**/messages", (route) => route.fulfill({ status: 503, body: "{}" }));
    await page.getByTestId("composer").fill("Four");
    await page.getByTestId("send").click();
    await expect(page.getByTestId("notice")).toBeVisible();
  },
  "the help sheet": async (page) => {
    await page.goto("/");
    await expect(page.getByTestId("composer")).toBeEnabled();
    await page.keyboard.press("Control+/");
    await expect(page.getByTestId("help")).toBeVisible();
  },
  "the sidebar on a narrow screen": async (page) => {
    await page.setViewportSize({ width: 360, height: 640 });
    await page.goto("/");
    await expect(page.getByTestId("composer")).toBeEnabled();
    await page.getByTestId("open-sidebar").click();
    await expect(page.getByTestId("search")).toBeVisible();
  },
  "nothing here": async (page) => {
    await page.goto("/nowhere");
    await expect(page.getByRole("heading", { name: "Nothing here" })).toBeVisible();
  },
  "no such conversation": async (page) => {
    await page.goto("/c/00000000-0000-4000-8000-00000000dead");
    await expect(page.getByRole("heading", { name: "Nothing here" })).toBeVisible();
  },
};

for (const colorScheme of ["light", "dark"] as const) {
  for (const [name, show] of Object.entries(VIEWS)) {
    test(`${name}, ${colorScheme}`, async ({ page, tolerated }) => {
      // The browser itself writes into the console that a page was not found, or that a request was refused.
      tolerated.push(/Failed to load resource/);
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await show(page);
      const { violations } = await new AxeBuilder({ page }).analyze();
      const told = violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join("\n    ")}`);
      expect(told).toEqual([]);
    });
  }
}

test("the keyboard reaches everything in the order in which it stands, and sees where it is", async ({ page }) => {
  // Without conversations of other tests.
  await page.route(/\/api\/conversations\?/, (route) => route.fulfill({ json: { items: [], next_cursor: null } }));
  await page.goto("/");
  await expect(page.getByText("Your conversations will be listed here.")).toBeVisible();
  await expect(page.getByTestId("composer")).toBeFocused();
  await page.locator(".skip-link").focus();
  const stops: string[] = [];
  for (let press = 0; press < 15; press++) {
    const [name, outline] = await page.evaluate(() => {
      const focused = document.activeElement!;
      const field = focused.closest(".composer") ?? focused;
      const name = focused.getAttribute("data-testid") ?? focused.className;
      return [name, getComputedStyle(field).outlineStyle];
    });
    stops.push(name!);
    expect(outline, `${name} shows that it has the focus`).not.toBe("none");
    if (name === "composer") break;
    await page.keyboard.press("Tab");
  }
  const order = ["skip-link", "brand", "new-chat", "search", "theme", "language", "open-help", "thread", "example"];
  expect(stops.filter((stop, at) => stop !== stops[at - 1])).toEqual([...order, "composer"]);
});
