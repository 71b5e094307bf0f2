// Tests the tools panel of a conversation: the available tools by server, and turning tools off.

import type { Page, Request } from "@playwright/test";
import { alive, boxOf } from "../kit/chat.ts";
import { conversation, open } from "../kit/seed.ts";
import { expect, test } from "../kit/test.ts";

const PLAIN = conversation("Sums", [["What is 1 + 2?", { content: "It is 3." }]]);

function tool(name: string, server: string | null, other: object = {}): object {
  const description = `What ${name} does.`;
  return { name, server, description, input_schema: {}, risk: "low", idempotent: true, enabled: true, ...other };
}

const TOOLS = {
  items: [tool("add", null), tool("files__read", "files"), tool("files__write", "files", { risk: "high" })],
  servers: [
    { name: "files", status: "connected", tools: 2, left_out: [{ name: "odd", reason: "its schema is not an object" }] },
    { name: "mail", status: "failed", error: "The connection was refused.", tools: 0, left_out: [] },
    { name: "web", status: "connecting", tools: 0, left_out: [] },
  ],
};

/** Mocks the API with these tools, of which `off` are turned off. The result has the current list of those, and the PUT requests. */
async function offer(page: Page, tools: object = TOOLS, off: string[] = []): Promise<{ off: string[]; puts: Request[] }> {
  const state = { off, puts: [] as Request[] };
  await page.route("**/api/tools", (route) => route.fulfill({ json: tools }));
  await page.route("**/api/conversations/*/tools", (route) => {
    const request = route.request();
    if (request.method() === "PUT") {
      state.puts.push(request);
      state.off = request.postDataJSON().disabled;
    }
    return route.fulfill({ json: { disabled: state.off } });
  });
  return state;
}

/** Returns the switch of a tool, or of all tools of a server. */
function switchOf(page: Page, name: string) {
  return page.getByTestId("tools-panel").getByRole("switch", { name, exact: true });
}

test("the tools are listed by server, with their description, risk and problems", async ({ page }) => {
  await offer(page);
  await open(page, PLAIN);
  await page.getByTestId("open-tools").click();
  const servers = page.getByTestId("tool-server");
  await expect(servers.locator("h3")).toHaveText(["Built in", "files", "mail", "web"]);
  await expect(servers.nth(1).getByTestId("tool-row")).toHaveText([/^read\s*low risk\s*What files__read does\.$/, /^write\s*high risk/]);
  await expect(servers.nth(1).getByTestId("left-out")).toContainText("its schema is not an object");
  await expect(page.getByTestId("server-status")).toHaveText(["connected", "not connected", "connecting…"]);
  await expect(servers.nth(2)).toContainText("The connection was refused.");
  await expect(servers.nth(2)).toContainText("Check the server's address and token");
  await page.keyboard.press("Escape");
  await expect(page.getByTestId("tools-panel")).toBeHidden();
  await expect(page.getByTestId("open-tools"), "the focus is back").toBeFocused();
});

test("a tool and a whole server can be turned off, immediately and permanently", async ({ page }) => {
  const state = await offer(page, TOOLS, ["add"]);
  await open(page, PLAIN);
  await page.getByTestId("open-tools").click();
  await expect(switchOf(page, "add")).not.toBeChecked();
  await expect(page.getByTestId("tools-count")).toHaveText("2/3");
  await switchOf(page, "write").click();
  await expect(switchOf(page, "All tools: files"), "some are on").toHaveJSProperty("indeterminate", true);
  await expect(page.getByTestId("tools-count")).toHaveText("1/3");
  await expect.poll(() => state.off).toEqual(["add", "files__write"]);
  await switchOf(page, "All tools: files").click();
  await expect(switchOf(page, "read")).toBeChecked();
  await switchOf(page, "All tools: files").click();
  await expect(switchOf(page, "read")).not.toBeChecked();
  await expect(switchOf(page, "write")).not.toBeChecked();
  await expect.poll(() => state.off).toEqual(["add", "files__read", "files__write"]);
});

test("a switch that the server refuses is reverted", async ({ page, tolerated }) => {
  tolerated.push(/Failed to load resource/);
  await offer(page);
  await open(page, PLAIN);
  await page.getByTestId("open-tools").click();
  await expect(switchOf(page, "add")).toBeChecked();
  await page.route("**/api/conversations/*/tools", (route) => route.fulfill({ status: 503, json: {} }));
  await switchOf(page, "add").click();
  await expect(page.getByTestId("tools-notice")).toContainText("503");
  await expect(switchOf(page, "add")).toBeChecked();
});

test("a tool can be turned off before the first message of a new chat", async ({ page, tolerated }) => {
  tolerated.push(/Failed to load resource/);
  await offer(page);
  await page.goto("/");
  await alive(page);
  await page.keyboard.press("Control+k");
  await page.getByTestId("palette-field").fill("choose tools");
  await page.keyboard.press("Enter");
  await switchOf(page, "add").click();
  await page.keyboard.press("Escape");
  const made = page.waitForRequest((request) => request.method() === "POST" && request.url().endsWith("/api/conversations"));
  await page.route(/\/api\/conversations$/, (route) => route.fulfill({ status: 503, json: {} }));
  await page.getByTestId("composer").fill("Hello");
  await page.getByTestId("composer").press("Enter");
  expect((await made).postDataJSON()).toEqual({ disabled_tools: ["add"] });
});

test("a list that fails to load can be retried", async ({ page, tolerated }) => {
  tolerated.push(/Failed to load resource/);
  await open(page, PLAIN);
  await page.route("**/api/tools", (route) => route.fulfill({ status: 503, json: {} }));
  await page.getByTestId("open-tools").click();
  await expect(page.getByTestId("load-tools-problem")).toBeVisible();
  await offer(page);
  await page.getByTestId("load-tools").click();
  await expect(page.getByTestId("tool-server")).toHaveCount(4);
});

test("many tools can be filtered, and the panel stays fast", async ({ page }) => {
  const items = Array.from({ length: 128 }, (_, at) => tool(`many__tool_${at}`, "many", { description: "word ".repeat(200) }));
  await offer(page, { items, servers: [{ name: "many", status: "connected", tools: 128, left_out: [] }] });
  await open(page, PLAIN);
  await page.getByTestId("open-tools").click();
  await expect(page.getByTestId("tool-row")).toHaveCount(128);
  const ms = await page.evaluate(async () => {
    const begin = performance.now();
    document.querySelector<HTMLInputElement>("[data-testid=server-switch]")!.click();
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    return performance.now() - begin;
  });
  expect(ms).toBeLessThan(1000);
  await expect(page.getByTestId("tools-count")).toHaveText("0/128");
  await page.getByTestId("find-tool").fill("TOOL_12");
  await expect(page.getByTestId("tool-row").filter({ visible: true })).toHaveCount(9);
});

test("on a phone, the panel slides up from the bottom", async ({ page }) => {
  await page.setViewportSize({ width: 360, height: 640 });
  await offer(page);
  await open(page, PLAIN);
  await page.emulateMedia({ reducedMotion: "reduce" });
  await page.getByTestId("open-tools").click();
  await expect(page.getByTestId("tool-server")).toHaveCount(4);
  const sheet = await boxOf(page.getByTestId("tools-panel"));
  expect([sheet.x, sheet.width, Math.round(sheet.y + sheet.height)]).toEqual([0, 360, 640]);
  expect(sheet.y).toBeGreaterThan(40);
  expect(await page.getByTestId("tools-panel").evaluate((shown) => shown.scrollWidth - shown.clientWidth)).toBe(0);
});
