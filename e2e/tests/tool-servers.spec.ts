// Tests tools of a real tool server, over stdio from the settings file, and over HTTP from the file of MCP servers. A turn calls
// them, the page shows their progress, and Stop ends them.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { NOTHING, findings } from "../kit/axe.ts";
import { ChatPage, toolCalls } from "../kit/chat.ts";
import { expect, test } from "../kit/test.ts";

const everything = join(import.meta.dirname, "../node_modules/@modelcontextprotocol/server-everything/dist/index.js");
const settings = join(tmpdir(), `tallybook-tool-servers-${process.pid}.toml`);
const others = join(tmpdir(), `tallybook-tool-servers-${process.pid}.json`);

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

const port = await freePort();
let overHttp: ChildProcess | undefined;

// Writes the files at load time, because the server starts before any hook runs. Outside of workers, Playwright loads this
// file only to list the tests, which needs no server.
if (process.env.TEST_WORKER_INDEX !== undefined) {
  const args = JSON.stringify([everything, "stdio"]);
  const program = `command = ${JSON.stringify(process.execPath)}\nargs = ${args}\nrisk = "low"\n`;
  writeFileSync(settings, `[tool_servers.process]\n${program}`);
  const address = { url: `http://127.0.0.1:${port}/mcp`, risk: "low" };
  writeFileSync(others, JSON.stringify({ httpStreamableServers: { http: address } }));
}

test.use({ scripted: true, settings: { CONFIG_FILE: settings, MCP_SERVERS_FILE: others, LLM_TITLES: "false" } });

test.beforeAll(() => {
  // Tallybook retries the connection until this server listens.
  const env = { PATH: process.env.PATH, PORT: String(port) };
  overHttp = spawn(process.execPath, [everything, "streamableHttp"], { env, stdio: "ignore" });
});

test.afterAll(() => {
  overHttp?.kill("SIGKILL");
  rmSync(settings, { force: true });
  rmSync(others, { force: true });
});

test("the start page has an example for each tool server", async ({ page, request, baseURL }) => {
  await expect
    .poll(async () => {
      const { servers }: { servers: { status: string }[] } = await (await request.get("/api/tools")).json();
      return servers.map(({ status }) => status);
    }, { timeout: 30_000 })
    .toEqual(["connected", "connected"]);
  await page.goto("/");
  await expect(page.locator(".example-tool")).toHaveText([/^[^_]+$/, "http", "process"]);
  await expect(page.locator(".example-text").nth(1)).toHaveText("What can you do with the tools of “http”?");
  await page.context().addCookies([{ name: "tallybook_language", value: "ja", url: baseURL! }]);
  await page.goto("/");
  await expect(page.locator(".example-text").nth(2)).toHaveText("「process」のツールで何ができる？");
});

for (const server of ["process", "http"]) {
  test(`a turn calls tools of a real server (${server}), and Stop ends one that takes long`, async ({ page, model, request }) => {
    const status = async () => {
      const { servers }: { servers: { name: string; status: string }[] } = await (await request.get("/api/tools")).json();
      return servers.find(({ name }) => name === server)!.status;
    };
    await expect.poll(status, { timeout: 30_000 }).toBe("connected");
    const chat = new ChatPage(page);
    model.answer([
      { tool: `${server}__echo`, input: '{"message":"こだま"}' },
      { tool: `${server}__get-sum`, input: '{"a":2,"b":40}' },
    ]);
    model.answer(["Both came back."]);
    await page.goto("/");
    const answer = await chat.ask("Try it");
    await expect(answer).toContainText("Both came back.");
    const stored = await (await request.get(chat.api())).json();
    const calls: { status: string; output: string }[] = stored.messages[1].tool_calls;
    expect(calls.map(({ status, output }) => [status, output])).toEqual([
      ["success", "Echo: こだま"],
      ["success", "The sum of 2 and 40 is 42."],
    ]);

    model.answer([{ tool: `${server}__trigger-long-running-operation`, input: '{"duration":60,"steps":60}' }]);
    const long = await chat.send("Take long");
    await expect(toolCalls(long)).toHaveCount(1);
    await expect(long.getByTestId("tool-progress")).toHaveText(/^\d+ of 60/);
    await page.getByTestId("stop").click();
    await expect(long).toHaveAttribute("data-status", "stopped");
    await expect(long.getByTestId("tool-progress")).toHaveCount(0);
    model.answer([{ tool: `${server}__echo`, input: '{"message":"again"}' }]);
    model.answer(["It still works."]);
    await expect(await chat.ask("And now?")).toContainText("It still works.");
  });
}

test("an image that a tool returns is shown in the answer, reloaded and opened", async ({ page, model, request }) => {
  const status = async () => {
    const { servers }: { servers: { name: string; status: string }[] } = await (await request.get("/api/tools")).json();
    return servers.find(({ name }) => name === "process")!.status;
  };
  await expect.poll(status, { timeout: 30_000 }).toBe("connected");
  const chat = new ChatPage(page);
  model.answer([{ tool: "process__get-tiny-image", input: "{}" }]);
  model.answer(["Here it is."]);
  await page.goto("/");
  const answer = await chat.ask("Draw");
  expect(model.lastRequest()).toContain("data:image/png;base64,");
  const image = answer.getByTestId("message-file").locator("img");
  const isDrawn = () => image.evaluate((image: HTMLImageElement) => image.complete && image.naturalWidth > 0);
  await expect(image).toHaveAttribute("alt", "image.png");
  await expect.poll(isDrawn).toBe(true);
  await page.reload();
  await expect.poll(isDrawn).toBe(true);
  expect(await findings(page)).toEqual(NOTHING);
  await image.click();
  const viewer = page.getByTestId("file-viewer");
  await expect(viewer.getByRole("heading")).toHaveText("image.png");
  await page.keyboard.press("Escape");
  await expect(viewer).toBeHidden();
});
