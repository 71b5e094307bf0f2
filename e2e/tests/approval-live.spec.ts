// Tests approvals with a real tool server. A waiting call survives a crash of the server, another tab is notified of decisions,
// and the model receives the results.

import { rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { ChatPage, alive, holdProgram } from "../kit/chat.ts";
import { ready } from "../kit/approval.ts";
import { choose } from "../kit/listbox.ts";
import type { ScriptedModel } from "../kit/model.ts";
import { expect, test } from "../kit/test.ts";

const everything = join(import.meta.dirname, "../node_modules/@modelcontextprotocol/server-everything/dist/index.js");
const file = join(tmpdir(), `tallybook-approval-${process.pid}.json`);
const ECHO = "everything__echo";

// Writes the file at load time, because the server starts before any hook runs. Outside of workers, Playwright loads this
// file only to list the tests, which needs no server.
if (process.env.TEST_WORKER_INDEX !== undefined) {
  const program = { command: process.execPath, args: [everything, "stdio"], risk: "high" };
  writeFileSync(file, JSON.stringify({ mcpServers: { everything: program } }));
}

test.use({ scripted: true, settings: { MCP_SERVERS_FILE: file, LLM_TITLES: "false" } });

test.afterAll(() => rmSync(file, { force: true }));

/** Waits until the tool server is connected to the server of these tests, or to the server at the address `server`. */
async function connected(page: Page, server = ""): Promise<void> {
  const status = async () => {
    const { servers }: { servers: { status: string }[] } = await (await page.request.get(`${server}/api/tools`)).json();
    return servers[0]!.status;
  };
  await expect.poll(status, { timeout: 30_000 }).toBe("connected");
}

/** Asks a question to which the model responds with one call of `echo` per message. */
async function askForCalls(page: Page, model: ScriptedModel, ...messages: string[]): Promise<ChatPage> {
  await connected(page);
  const chat = new ChatPage(page);
  model.answer(messages.map((message) => ({ tool: ECHO, input: JSON.stringify({ message }) })));
  await page.goto("/");
  await chat.send("Say it");
  await expect(page.getByTestId("consent")).toHaveCount(messages.length);
  await expect(page.getByTestId("allow-once").first()).toBeEnabled();
  return chat;
}

test("a waiting call survives the server, and any server accepts a decision with an edited input", async ({ page, model, server, tolerated }) => {
  tolerated.push(/net::ERR_|Failed to load resource/);
  const chat = await askForCalls(page, model, "こだま");
  await server.kill();
  await server.restart();
  // If the database supports several servers, a replica receives the decision.
  const elsewhere = (await server.replica()) ?? server.url;
  await connected(page, elsewhere);
  await page.goto(elsewhere + new URL(page.url()).pathname);
  await expect(page.getByTestId("consent").locator(".approval-risk")).toContainText("everything");
  await expect(page).toHaveTitle(/^\(!\) /);
  await expect(page.getByTestId("row-waits")).toBeVisible();
  model.answer(["It came back."]);
  await page.getByTestId("change-input").click();
  await page.getByTestId("input-field").fill('{"message": "山びこ"}');
  await page.getByTestId("allow-once").click();
  await expect(chat.answers).toHaveAttribute("data-status", "complete");
  await expect(chat.answers).toContainText("It came back.");
  await expect(page.getByTestId("row-waits")).toHaveCount(0);
  const stored = await (await page.request.get(chat.api())).json();
  const [call] = stored.messages[1].tool_calls;
  expect([call.status, call.output, call.input, call.proposed_input]).toEqual([
    "success", "Echo: 山びこ", { message: "山びこ" }, { message: "こだま" },
  ]);
  for (const again of [false, true]) {
    if (again) await page.reload();
    await page.getByTestId("tool-call").click();
    await expect(page.getByTestId("tool-call-details")).toContainText("こだま");
    await expect(page.getByRole("heading", { name: "Input, edited by you" })).toBeVisible();
  }
});

test("the note above the message field leads to the call, also if it is clicked before the page is interactive", async ({ page, model, context }) => {
  await askForCalls(page, model, "one", "two");
  const address = page.url();
  await page.close();
  for (const part of ["tallybook_bg", "split_messages"]) {
    const other = await context.newPage();
    const release = await holdProgram(other, part);
    await other.goto(address, { waitUntil: "commit" });
    if (part !== "tallybook_bg") await alive(other);
    await other.getByTestId("show-calls").click();
    await expect(other.getByTestId("show-calls"), "the click was noticed").toHaveCSS("cursor", "progress");
    await expect(other.getByTestId("allow-all"), "the page cannot know which inputs were shown").toBeDisabled();
    release();
    await expect(other.getByTestId("consent").first()).toBeFocused();
    await expect(other.locator("[data-pressed]")).toHaveCount(0);
    await other.close();
  }
});

test("another tab is notified of the decision, and the answer continues in both", async ({ page, model, context }) => {
  await page.clock.install();
  const chat = await askForCalls(page, model, "one", "two");
  const other = await context.newPage();
  await other.goto(page.url());
  await expect(other.getByTestId("consent")).toHaveCount(2);
  model.answer(["One of them came back."]);
  await ready(page);
  await page.getByTestId("consent").first().focus();
  await page.keyboard.press("3");
  await page.getByTestId("deny-reason").fill("Not that");
  await page.keyboard.press("Enter");
  await expect(page.getByTestId("consent")).toHaveCount(1);
  await ready(page);
  await page.getByTestId("consent").focus();
  await page.keyboard.press("1");
  await expect(chat.answers).toContainText("One of them came back.");
  const there = new ChatPage(other);
  await expect(there.answers).toHaveAttribute("data-status", "complete");
  await expect(there.answers).toContainText("One of them came back.");
  const stored = await (await page.request.get(chat.api())).json();
  const calls: { status: string; output: string | null; error: string | null }[] = stored.messages[1].tool_calls;
  expect(calls.map(({ status }) => status)).toEqual(["denied", "success"]);
  expect(calls[0]!.error).toContain("Not that");
  await other.close();
});

test("a saved approval applies until it is revoked", async ({ page, model }) => {
  const chat = await askForCalls(page, model, "one");
  model.answer(["First."]);
  await choose(page.getByTestId("scope"), "always");
  await page.getByTestId("allow-from-now-on").click();
  await expect(chat.answers).toContainText("First.");
  model.answer([{ tool: ECHO, input: '{"message":"two"}' }]);
  model.answer(["Second."]);
  await expect(await chat.ask("Again"), "the call needed no approval").toContainText("Second.");
  await page.getByTestId("open-settings").click();
  await expect(page.getByTestId("approval")).toHaveText(/everything · echo\s*in all conversations/);
  await page.getByTestId("revoke").click();
  await expect(page.getByTestId("approval")).toHaveCount(0);
  await page.goBack();
  model.answer([{ tool: ECHO, input: '{"message":"three"}' }]);
  await chat.send("And again");
  await expect(page.getByTestId("consent")).toHaveCount(1);
  await page.getByTestId("stop").click();
  await expect(chat.answers.last()).toHaveAttribute("data-status", "stopped");
  await expect(page.getByTestId("consent"), "no call needs approval any more").toHaveCount(0);
});
