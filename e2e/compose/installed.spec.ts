// Tests an installation: a user signs in and asks, tools run, the page can be reloaded in the middle of an answer, and the
// database contains everything.

import { ChatPage, toolCalls, untimedText } from "../kit/chat.ts";
import { expect, test } from "./installed.ts";

const CALLS = `SELECT tool_name, status, input, output, duration_ms, user_name, turn_status
  FROM tool_history WHERE conversation_uuid = ? ORDER BY step, position`;

test("an answer shows its tool calls, and the page, the tool history and the database agree on them", async ({ page, admin, rows }) => {
  const chat = new ChatPage(page);
  const answer = await chat.ask("What is (12.5 + 7.25) × 4?");
  await expect(answer).toContainText("79");
  await answer.getByTestId("tool-group").click();
  await expect(toolCalls(answer)).toHaveCount(2);
  await toolCalls(answer).last().click();
  const details = answer.getByTestId("tool-call-details");
  await expect(details).toContainText("19.75");
  await expect(details).toContainText("79");

  const uuid = new URL(page.url()).pathname.replace("/c/", "");
  const stored = await rows(CALLS, [uuid]);
  expect(stored.map(({ tool_name, status, user_name, turn_status }) => [tool_name, status, user_name, turn_status])).toEqual([
    ["add", "success", admin.name, "complete"],
    ["multiply", "success", admin.name, "complete"],
  ]);
  expect(stored.map(({ output }) => output)).toEqual(["19.75", "79"]);
  expect(Object.values(JSON.parse(stored[0]!.input)).map(Number)).toEqual([12.5, 7.25]);
  for (const { duration_ms } of stored) expect(duration_ms).toBeGreaterThanOrEqual(0);

  await page.goto(`/admin?q=conversation:${uuid}`);
  await expect(page.getByTestId("call")).toHaveCount(stored.length);
});

test("a reload in the middle of an answer shows all its text, once and in order", async ({ page, context, rows }) => {
  const question = "What is (1 + 2) × (3 + 4) + (5 + 6) × (7 + 8) + 9?";
  const undisturbed = new ChatPage(await context.newPage());
  await undisturbed.page.goto("/");
  const expected = await undisturbed.ask(question);

  const chat = new ChatPage(page);
  await chat.send(question);
  const answer = chat.answers.first();
  await expect(toolCalls(answer).first()).toBeAttached();
  await expect(answer).toHaveAttribute("data-status", "streaming");
  await page.reload();
  await expect(answer).toHaveAttribute("data-status", "complete");
  await expect.poll(() => untimedText(answer)).toBe(await untimedText(expected));
  await expect(chat.messages).toHaveCount(2);

  const stored = await rows(CALLS, [new URL(page.url()).pathname.replace("/c/", "")]);
  expect(stored).toHaveLength(await toolCalls(expected).count());
  expect(stored.every(({ status }) => status === "success")).toBe(true);
});
