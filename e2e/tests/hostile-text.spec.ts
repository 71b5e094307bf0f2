// Tests that untrusted text stays text wherever the page shows it, live and after a reload.

import type { Locator } from "@playwright/test";
import { alive } from "../kit/chat.ts";
import { ALL, ATTACKS, LINE, watch } from "../kit/hostile.ts";
import { scriptTurn, started, withoutFeed } from "../kit/live.ts";
import { call, conversation, open } from "../kit/seed.ts";
import { expect, test } from "../kit/test.ts";

test("titles, messages and searches that the server stores", async ({ page, request }) => {
  const harmless = await watch(page);
  const title = LINE.slice(0, 200);
  const { uuid } = await (await request.post("/api/conversations", { data: { title } })).json();
  await page.goto(`/c/${uuid}`);
  await alive(page);
  await page.getByTestId("composer").fill(ALL);
  await page.getByTestId("send").click();
  const answer = page.locator('article[data-role="assistant"]');
  await expect(answer).toHaveAttribute("data-status", "complete");
  for (const load of ["live", "reloaded"]) {
    await expect(page.locator('article[data-role="user"] .bubble-text'), load).toHaveText(ALL);
    await expect(page.getByTestId("conversation-link").first(), load).toHaveText(title.trim());
    await expect(page, load).toHaveTitle(`${title.trim()} · Tallybook`);
    await harmless();
    await page.reload();
    await alive(page);
  }
  await page.getByTestId("search").fill(ATTACKS[1]!);
  await expect(page.getByTestId("conversation-link")).toHaveText([title.trim()]);
  await harmless();
});

test("texts of models and tools, live", async ({ page }) => {
  const harmless = await watch(page);
  await withoutFeed(page);
  const turn = await scriptTurn(page);
  await page.goto("/");
  await page.getByTestId("composer").fill(started.content);
  await page.getByTestId("send").click();
  await turn.say("message_start", { ...started, content: ALL });
  await turn.say("tool_call_start", { tool_call_id: 1, tool_name: LINE, input: { [LINE]: ALL, nested: [ALL] }, offset: 0 });
  await turn.say("tool_call_end", { tool_call_id: 1, output: ALL, error: null, status: "success", duration_ms: 5 });
  await turn.say("tool_call_start", { tool_call_id: 2, tool_name: LINE, input: ALL, offset: 0 });
  await turn.say("tool_call_end", { tool_call_id: 2, output: null, error: ALL, status: "error", duration_ms: 5 });
  await page.getByTestId("tool-group").click();
  await expect(page.getByTestId("tool-call")).not.toHaveCount(0);
  for (const line of await page.getByTestId("tool-call").all()) await line.click();
  await expect(page.getByTestId("tool-call-details").first().locator("pre").last()).toHaveText(ALL);
  await expect(page.getByTestId("tool-call-details").last().locator("pre").last()).toHaveText(ALL);
  await expect(page.getByTestId("tool-call").first().locator(".tool-name")).toHaveText(LINE);
  await turn.say("content_delta", { offset: 0, delta: ALL });
  await expect(page.locator("article").last()).toContainText("<img src=x onerror=alert(1)>");
  await harmless();
  await turn.say("error", { error: ALL, code: LINE, user_message_id: 1, assistant_message_id: 2 });
  await expect(page.getByRole("alert")).toHaveText(ALL);
  await harmless();
});

test("texts of models and tools, from the API", async ({ page }) => {
  const harmless = await watch(page);
  const calls = [
    call(LINE, { [LINE]: ALL }, { output: ALL }),
    call(LINE, ALL, { output: null, error: ALL, status: "error" }),
  ];
  await open(page, conversation(LINE, [[ALL, { content: ALL, calls, status: "failed", error: ALL }]]));
  await page.getByTestId("tool-group").click();
  await expect(page.getByTestId("tool-call")).not.toHaveCount(0);
  for (const line of await page.getByTestId("tool-call").all()) await line.click();
  await expect(page.getByTestId("tool-call-details")).toHaveCount(2);
  await expect(page.getByRole("alert")).toHaveText(ALL);
  await harmless();
});

test("very long words are drawn without kerning, which would block the page", async ({ page }) => {
  const word = "AV".repeat(5000);
  await open(page, conversation("Long", [[word, { content: `# ${word}\n\n${word}\n\nShort.` }]]));
  const kerning = (place: Locator) => place.evaluate((element) => getComputedStyle(element).fontKerning);
  const answer = page.locator("article").last();
  for (const place of [page.locator(".bubble-text"), answer.locator(".prose :is(h1, h2, h3)"), answer.locator(".prose p").first(), page.getByTestId("composer")]) {
    expect(await kerning(place)).toBe("none");
  }
  expect(await kerning(answer.locator(".prose p").last())).toBe("auto");
});
