// Tests the tool history on a server with several users. An admin must give a reason to open other users' data, and all pages
// are accessible in each theme and both languages.

import { rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { APIRequestContext, Browser, BrowserContext, Page } from "@playwright/test";
import { ADMIN, PASSWORD, expect, test } from "../kit/accounts.ts";
import { LOOKS, violations } from "../kit/axe.ts";

const everything = join(import.meta.dirname, "../node_modules/@modelcontextprotocol/server-everything/dist/index.js");
const file = join(tmpdir(), `tallybook-tool-history-others-${process.pid}.json`);

// Writes the file at load time, because the server starts before any hook runs. Outside of workers, Playwright loads this
// file only to list the tests, which needs no server.
if (process.env.TEST_WORKER_INDEX !== undefined) {
  const program = { command: process.execPath, args: [everything, "stdio"], risk: "high" };
  writeFileSync(file, JSON.stringify({ mcpServers: { everything: program } }));
}

test.use({ scripted: true, settings: { ACCOUNTS: "on", MCP_SERVERS_FILE: file, LLM_TITLES: "false" } });
test.afterAll(() => rmSync(file, { force: true }));

/** Opens a browser context that is signed in as this user. */
async function signedIn(browser: Browser, baseURL: string, name: string, options = {}): Promise<BrowserContext> {
  const context = await browser.newContext({ baseURL, serviceWorkers: "block", ...options });
  expect((await context.request.post("/api/session", { data: { name, password: PASSWORD } })).status()).toBe(200);
  return context;
}

/** Asks a question. Returns the ids of the answer's tool calls. */
async function ask(request: APIRequestContext, uuid: string, content: string): Promise<number[]> {
  const answer = await request.post(`/api/conversations/${uuid}/messages`, { data: { content } });
  expect(await answer.text()).toContain("event: message_end");
  const { messages } = await (await request.get(`/api/conversations/${uuid}`)).json();
  return messages.at(-1).tool_calls.map((call: { tool_call_id: number }) => call.tool_call_id);
}

/** Opens a page, and asserts that it is accessible and does not scroll sideways. */
async function check(page: Page, address: string, what: string): Promise<void> {
  await page.goto(address);
  expect(await violations(page), `${address}, ${what}`).toEqual([]);
  const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  expect(beyond, `${address} does not scroll sideways, ${what}`).toBeLessThanOrEqual(0);
}

test("calls of other users need a reason, and their pages are accessible", async ({ browser, baseURL, model }) => {
  // This test checks as many pages as a dozen other tests.
  test.setTimeout(300_000);
  const admin = await signedIn(browser, baseURL!, ADMIN);
  await admin.request.post("/api/users", { data: { name: "ann", password: PASSWORD } });
  const ann = await signedIn(browser, baseURL!, "ann");
  const connected = async () => (await (await ann.request.get("/api/tools")).json()).servers[0].status;
  await expect.poll(connected, { timeout: 30_000 }).toBe("connected");
  const { uuid } = await (await ann.request.post("/api/conversations", { data: { title: "Echoes" } })).json();
  model.answer([{ tool: "everything__echo", input: '{"message":"pizza"}' }]);
  const [echo] = await ask(ann.request, uuid, "Say it");
  model.answer(["It was said."]);
  const decision = { decision: "approve", input: { message: "salad" } };
  const decided = await ann.request.post(`/api/tool-calls/${echo}/decision`, { data: decision });
  expect(await decided.text()).toContain("event: message_end");
  model.answer(["Let me see.", { tool: "add", input: '{"a":12.5,"b":7.25}' }]);
  model.answer(["It is **19.75**."]);
  const [sum] = await ask(ann.request, uuid, "What is 12.5 + 7.25?");

  for (const look of LOOKS) {
    const looking = await signedIn(browser, baseURL!, ADMIN, look);
    const page = await looking.newPage();
    await check(page, "/admin", JSON.stringify(look));
    await expect(page.getByTestId("call").first().getByRole("link", { name: "ann" })).toBeVisible();
    for (const address of [`/admin/calls/${sum}`, "/admin?q=salad"]) {
      await check(page, address, JSON.stringify(look));
      await expect(page.locator("#reason"), address).toBeVisible();
    }
    await looking.close();
  }
  const page = await admin.newPage();
  await page.goto(`/admin/calls/${sum}`);
  await page.locator("#reason").fill("ann asked for help");
  await page.locator(".history-reason button").click();
  await page.locator("#input").fill('{"a":40,"b":2.5}');
  await page.locator(".history-rerun button").click();
  await expect(page.getByTestId("again").locator("pre").last()).toHaveText("42.5");
  await page.goto(`/admin/calls/${echo}`);
  await expect(page.locator(".history-text pre").first()).toContainText("pizza");
  await expect(page.locator(".history-decisions li")).toContainText("Allowed once, by ann");

  for (const look of LOOKS) {
    const looking = await signedIn(browser, baseURL!, ADMIN, look);
    const view = await looking.newPage();
    const calls = [`/admin/calls/${echo}`, `/admin/calls/${sum}`, `/admin/calls/${sum}/playback?at=60000`];
    for (const address of [...calls, `/admin/conversations/${uuid}`, "/admin?q=status:denied", "/admin?q=tol:add", "/admin/figures?range=24h"]) {
      await check(view, address, JSON.stringify(look));
    }
    await expect(view.getByTestId("chart-calls")).toBeVisible();
    // Replaces the page's script with an empty one. Scripts stay enabled, because axe needs them.
    await looking.route("**/admin/tool-history.js", (route) => route.fulfill({ contentType: "text/javascript", body: "" }));
    await check(view, `/admin/calls/${sum}/playback?at=0&speed=1`, `${JSON.stringify(look)} without scripts`);
    await looking.close();
  }
  await ann.close();
  await admin.close();
});
