// Starts Open WebUI as published on PyPI, connected to Tallybook only through its settings.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { key, url as tallybook, variable } from "../tallybook.ts";

export interface OpenWebUi {
  url: string;
  stop(): Promise<void>;
}

/** Settings of the connection: it requests tool calls as status events, and forwards the chat's ID. */
const CONNECTION = {
  OPENAI_API_BASE_URL: `${tallybook}/v1`,
  OPENAI_API_KEY: key,
  OPENAI_API_CONFIGS: JSON.stringify({ 0: { headers: { "X-Tallybook-Tools": "events" } } }),
  ENABLE_FORWARD_USER_INFO_HEADERS: "true",
};

/** Settings that keep Open WebUI from contacting other services and from computing embeddings. */
const ALONE = {
  OFFLINE_MODE: "true",
  HF_HUB_OFFLINE: "1",
  ENABLE_OLLAMA_API: "false",
  ENABLE_VERSION_UPDATE_CHECK: "false",
  RAG_EMBEDDING_ENGINE: "openai",
  ANONYMIZED_TELEMETRY: "false",
  WEBUI_SECRET_KEY: "not-a-secret",
};

/** Shell script that ends the program when its standard input closes. That happens no matter how the tests end. */
const KEEPER = `trap '' INT
"$@" &
read -r _
kill $!
wait $!`;

/** Starts Open WebUI in a temporary folder, and waits until it responds. Throws after `limitMs` milliseconds. */
export async function start(limitMs: number): Promise<OpenWebUi> {
  const folder = await mkdtemp(join(tmpdir(), "tallybook-open-webui-"));
  const port = await freePort();
  const env = { PATH: process.env.PATH, HOME: folder, DATA_DIR: folder, ...ALONE, ...CONNECTION };
  const command = [variable("OPEN_WEBUI"), "serve", "--host", "127.0.0.1", "--port", String(port)];
  const keeper = spawn("sh", ["-c", KEEPER, "keeper", ...command], { cwd: folder, env, stdio: "pipe" });
  const log = createWriteStream(variable("OPEN_WEBUI_LOG"));
  keeper.stdout.pipe(log);
  keeper.stderr.pipe(log);
  const stop = async () => {
    const ended = once(keeper, "exit");
    keeper.stdin.end();
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  const url = `http://127.0.0.1:${port}`;
  const until = Date.now() + limitMs;
  while (Date.now() < until) {
    if (await isReady(url)) return { url, stop };
    // Open WebUI does not report when it begins to listen.
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  await stop();
  throw new Error(`Open WebUI does not start; its log is ${variable("OPEN_WEBUI_LOG")}`);
}

async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/health`)).ok;
  } catch {
    return false;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
