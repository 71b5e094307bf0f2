// Tests how an admin adds a tool server in the page: without a restart, with errors at their fields, and later changes.

import type { APIRequestContext, Page } from "@playwright/test";
import { NOTHING, findings } from "../kit/axe.ts";
import { ChatPage, alive, toolCalls } from "../kit/chat.ts";
import { choose, expectChosen } from "../kit/listbox.ts";
import { expectNarrow } from "../kit/narrow.ts";
import { expect, test } from "../kit/test.ts";
import { type ToolServer, startToolServer } from "../kit/tool-server.ts";

test.use({ scripted: true, settings: { LLM_TITLES: "false" } });

const TOKEN = "token-added-5up3r";

let tools: ToolServer;

test.beforeAll(async () => {
  tools = await startToolServer(TOKEN);
});
test.afterAll(() => tools.stop());
test.afterEach(async ({ request }) => {
  const { items } = await (await request.get("/api/admin/tool-servers")).json();
  for (const { name } of items) await request.delete(`/api/admin/tool-servers/${name}`);
});

/** Adds a tool server through the API. */
async function add(request: APIRequestContext, name: string): Promise<void> {
  const server = { name, url: tools.url, risk: "claimed", headers: { Authorization: `Bearer ${TOKEN}` } };
  expect((await request.post("/api/admin/tool-servers", { data: server })).status()).toBe(201);
}

/** Returns everything that the server sends to this page from now on. */
function responses(page: Page): Promise<string>[] {
  const bodies: Promise<string>[] = [];
  page.on("response", (response) => {
    if (response.url().includes("/api/") && !response.url().includes("/events")) bodies.push(response.text().catch(() => ""));
  });
  return bodies;
}

test("a tool server is added with a token, and a model calls its tool without a restart", async ({ page, model }) => {
  const bodies = responses(page);
  await page.goto("/");
  await alive(page);
  const before = Number(await page.getByTestId("tools-count").textContent());
  await page.keyboard.press("Control+k");
  await page.getByTestId("palette-field").fill("add a tool server");
  await page.keyboard.press("Enter");
  const dialog = page.getByTestId("setup-dialog");
  await expect(dialog.getByRole("heading", { name: "Add a tool server" })).toBeVisible();
  await expect(page.getByTestId("setup-name")).toBeFocused();
  await page.keyboard.type("docs");
  await page.getByTestId("setup-address").fill(tools.url);
  await choose(page.getByTestId("server-authentication"), "token");
  await page.getByTestId("setup-secret").fill("wrong");
  await page.getByTestId("server-more-headers").fill("X-Team: maps\nX-Trace: tally");
  await choose(page.getByTestId("server-approval"), "claimed");

  const result = page.getByTestId("test-result");
  await test.step("a test with a wrong token fails", async () => {
    await page.getByTestId("test-setup").click();
    await expect(result).toHaveAttribute("data-ok", "false");
    await expect(result).toContainText("refused access");
    await page.getByTestId("setup-secret").fill(TOKEN);
    await expect(result, "it was about the other token").toHaveCount(0);
  });

  await test.step("a test shows the tools, and which of their calls need approval", async () => {
    await page.getByTestId("test-setup").click();
    await expect(result).toHaveAttribute("data-ok", "true");
    await expect(result).toContainText("2 tools found");
    const tool = (name: string) => page.getByTestId("tested-tool").filter({ hasText: name });
    await expect(tool("look_up")).toContainText("no approval");
    await expect(tool("send_mail")).toContainText("needs approval");
    await expect(tool("send_mail")).toContainText("Sends words to a colleague.");
    await expect(page.getByTestId("left-out")).toContainText("broken");
  });

  await page.getByTestId("save-setup").click();
  await expect(dialog).toHaveCount(0);
  await expect(page.getByTestId("setup-status")).toContainText("docs is added.");
  await expect(page.getByTestId("composer")).toBeFocused();
  await expect(page.getByTestId("tools-count"), "without a reload").toHaveText(String(before + 2));
  await expect(page.locator(".example-tool").filter({ hasText: "docs" }), "an example is about its tools").not.toHaveCount(0);

  const chat = new ChatPage(page);
  model.answer([{ tool: "docs__look_up", input: '{"words":"tally"}' }]);
  model.answer(["I looked it up."]);
  const answer = await chat.ask("Look up tally");
  await expect(answer).toContainText("I looked it up.");
  expect(tools.calls()).toContainEqual({ name: "look_up", words: "tally" });
  await expect(toolCalls(answer)).toHaveCount(1);
  const { messages } = await (await page.request.get(chat.api())).json();
  expect(messages[1].tool_calls[0].output).toBe("Found: tally");

  await page.goto("/settings");
  await expect(page.getByTestId("section-tool-servers")).toContainText("connected · 2 tools");
  const sent = (await Promise.all(bodies)).join("\n");
  expect(sent).toContain("docs__look_up");
  expect(sent).not.toContain(TOKEN);
  const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state, location.href]));
  expect(kept).not.toContain(TOKEN);
});

test("problems are reported at their fields, and nothing typed is lost", async ({ page, request, tolerated }) => {
  tolerated.push(/status of (409|422)/);
  await add(request, "docs");
  await page.goto("/");
  await alive(page);
  await page.getByTestId("open-tools").click();
  await page.getByTestId("tools-panel").getByTestId("add-tool-server").click();
  const [name, address] = [page.getByTestId("setup-name"), page.getByTestId("setup-address")];
  await name.press("Enter");
  await expect(page.getByTestId("setup-name-problem")).toHaveText("Enter a name for this tool server.");
  await expect(name).toBeFocused();
  await name.fill("docs");
  await address.fill("http://tools.internal/mcp");
  await page.getByTestId("save-setup").click();
  await expect(page.getByTestId("server-allow-http")).toBeFocused();
  await expect(page.getByTestId("server-allow-http")).toHaveAccessibleDescription(/begins with https/);
  await address.fill("https://169.254.169.254/mcp");
  await page.getByTestId("save-setup").click();
  await expect(page.getByTestId("setup-address-problem")).toContainText("link-local");
  await expect(address).toHaveAttribute("aria-invalid", "true");
  await address.fill(tools.url);
  await page.getByTestId("save-setup").click();
  await expect(page.getByTestId("setup-name-problem"), "another server has this name").toContainText("exists already");
  await expect(name).toBeFocused();
  await expect(address).toHaveValue(tools.url);

  await test.step("a custom header", async () => {
    await name.fill("mail");
    await choose(page.getByTestId("server-authentication"), "header");
    await page.getByTestId("server-header").fill("Authorization");
    await page.getByTestId("setup-secret").fill(`Bearer ${TOKEN}`);
    await page.keyboard.press("Enter");
    await expect(page.getByTestId("setup-dialog")).toHaveCount(0);
    await expect(page.getByTestId("tools-panel"), "it shows the new tools").toContainText("mail");
    // The tools of the other server mention mail, too.
    const added = page.getByTestId("tool-server").filter({ has: page.getByText("mail", { exact: true }) });
    await expect(added).toContainText("look_up");
  });
});

test("the settings test, change and remove a tool server", async ({ page, request, tolerated }) => {
  tolerated.push(/status of 412/);
  await add(request, "docs");
  await page.goto("/settings");
  const section = page.getByTestId("section-tool-servers");
  const row = section.getByTestId("entry").filter({ hasText: "docs" });
  await expect(row).toContainText(tools.url);
  await expect(row).toContainText("added here");
  await row.getByTestId("test-entry").click();
  await expect(row.getByTestId("test-result")).toContainText("2 tools found");

  const dialog = page.getByTestId("setup-dialog");
  await test.step("change, while another admin changes it, too", async () => {
    await row.getByTestId("edit-entry").click();
    await expect(dialog.getByRole("heading", { name: "Edit docs" })).toBeVisible();
    await expect(page.getByTestId("setup-address")).toBeFocused();
    await expectChosen(page.getByTestId("server-authentication"), "keep");
    await expect(page.getByTestId("setup-secret"), "the token is not shown").toHaveCount(0);
    await page.getByTestId("setup-further").locator("summary").click();
    await page.getByTestId("server-exclude").fill("send_*");
    expect((await request.patch("/api/admin/tool-servers/docs", { data: { timeout_secs: 7 } })).status()).toBe(200);
    await page.getByTestId("save-setup").click();
    const problem = page.getByTestId("setup-problem");
    await expect(problem).toContainText("Another admin changed these settings.");
    await expect(problem).toBeFocused();
    await expect(page.getByTestId("server-timeout")).toHaveValue("7");
    await expect(page.getByTestId("server-exclude")).toHaveValue("send_*");
    await page.getByTestId("save-setup").click();
    await expect(dialog).toHaveCount(0);
    await expect(row.getByTestId("edit-entry")).toBeFocused();
    await expect(row.getByTestId("entry-status"), "with the kept token").toHaveText("connected · 1 tool");
  });

  await test.step("the stored token is not sent to another address", async () => {
    await row.getByTestId("edit-entry").click();
    await page.getByTestId("setup-address").fill("https://elsewhere.example.com/mcp");
    await page.getByTestId("save-setup").click();
    await expect(page.getByTestId("server-authentication-problem")).toContainText("enter the token again");
    await expect(page.getByTestId("server-authentication")).toBeFocused();
    await page.keyboard.press("Escape");
    await expect(dialog).toHaveCount(0);
  });

  await test.step("remove", async () => {
    await row.getByTestId("remove-entry").click();
    await expect(page.getByTestId("cancel-removal")).toBeFocused();
    await page.getByTestId("confirm-removal").click();
    await expect(row).toHaveCount(0);
    await expect(page.getByTestId("setup-status")).toHaveText("docs is removed.");
    await expect(section.getByTestId("add-tool-server")).toBeFocused();
    expect((await request.get("/api/admin/tool-servers/docs")).status()).toBe(404);
  });
});

test.describe("in Japanese on a phone", () => {
  test.use({ locale: "ja-JP", viewport: { width: 360, height: 740 } });

  test("a tool server is added with the keyboard alone", async ({ page }) => {
    await page.goto("/settings");
    await alive(page);
    await page.getByTestId("add-tool-server").press("Enter");
    const dialog = page.getByTestId("setup-dialog");
    await expect(page.getByTestId("setup-name")).toBeFocused();
    await page.keyboard.type("辞書");
    await page.keyboard.press("Tab");
    await page.keyboard.type(tools.url);
    await page.keyboard.press("Tab");
    await expect(page.getByTestId("server-authentication")).toBeFocused();
    await page.keyboard.press("Enter");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await expectChosen(page.getByTestId("server-authentication"), "token");
    await page.keyboard.press("Tab");
    await page.keyboard.type(TOKEN);
    await page.getByTestId("setup-further").locator("summary").press("Enter");
    await page.getByTestId("test-setup").press("Enter");
    await expect(page.getByTestId("test-result")).toContainText("2個のツールが見つかりました");
    expect(await findings(page, "[data-testid=setup-dialog]"), "with the result").toEqual(NOTHING);
    await expectNarrow(page, dialog);
    await page.getByTestId("save-setup").press("Enter");
    await expect(page.getByTestId("setup-status")).toHaveText("辞書を追加しました。接続されると、ツールを使えます。");
    await expect(page.getByTestId("entry-status")).toHaveText("接続済み · ツール2個");
    expect(await findings(page, "[data-testid=section-tool-servers]"), "the settings").toEqual(NOTHING);
    await expectNarrow(page, page.getByTestId("section-tool-servers"));
  });
});
