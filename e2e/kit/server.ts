// Starts the real server program in a temporary folder and on a free port. The demo model is the default.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createDatabase } from "./database.ts";

/** Options of a Playwright project or test file for its servers. */
export interface ServerOptions {
  /** URL of the MySQL server for the data. SQLite if undefined. */
  mysqlServer: string | undefined;
  /** Pause of the demo model between two words, in milliseconds. The server's default if undefined. */
  demoPaceMs: number | undefined;
  /** `true` if answers come from the test's scripted model, not from the demo model. */
  scripted: boolean;
  /** Further settings, by the names of their environment variables. `undefined` removes one that is set for all tests. */
  settings: Record<string, string | undefined>;
}

/** A running server. */
export interface Server {
  url: string;
  /** URL of its database. */
  database: string;
  /** Returns the content of each file in the folder in which the server runs, by its path. */
  files(): Promise<Map<string, Buffer>>;
  /** Returns what the server has printed and logged so far. */
  output(): string;
  /** Waits until the server has printed the link that creates the first admin, and returns the link. */
  setupLink(): Promise<string>;
  /** Kills the process, as `kill -9` does. */
  kill(): Promise<void>;
  /** Starts a killed server again, at the same address and with the data that it left. */
  restart(): Promise<void>;
  /** Starts another server on the same data, and returns its address. `undefined` with SQLite, which only one process can use. */
  replica(): Promise<string | undefined>;
  stop(): Promise<void>;
}

const START_LIMIT_MS = 30_000;
const STOP_LIMIT_MS = 20_000;
const READY = /^Tallybook is ready at (http:\/\/\S+)/;
const SETUP = /^\s*setup: (http:\/\/\S+)/;

/** Starts a server and waits until it reports that it is ready. Without `modelUrl`, the demo model answers. */
export async function startServer(
  { mysqlServer, demoPaceMs, settings }: Omit<ServerOptions, "scripted">,
  modelUrl?: string,
): Promise<Server> {
  const program = process.env.TALLYBOOK_BIN;
  if (!program) throw new Error("TALLYBOOK_BIN must name the server program: run the tests with `cargo xtask test`");
  const folder = await mkdtemp(join(tmpdir(), "tallybook-e2e-"));
  const database = await createDatabase(mysqlServer, folder);
  // Does not inherit the environment: it may contain API keys and settings of the developer.
  const env = {
    PATH: process.env.PATH,
    HOST: "127.0.0.1",
    DATABASE_URL: database.url,
    TURN_LEASE_SECS: "2",
    ...(modelUrl === undefined
      ? { LLM_PROVIDER: "demo" }
      : { LLM_PROVIDER: "openai", LLM_BASE_URL: modelUrl, LLM_API_KEY: "not-a-key", LLM_MODEL: "scripted" }),
    ...(demoPaceMs !== undefined && { DEMO_PACE_MS: String(demoPaceMs) }),
    ...settings,
  };
  const output: string[] = [];
  const launch = (port: string) => {
    const started = spawn(program, { cwd: folder, env: { ...env, PORT: port }, stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [started.stdout, started.stderr]) stream.on("data", (data) => output.push(String(data)));
    return started;
  };
  let child = launch("0");
  const replicas: ChildProcess[] = [];
  const stop = async () => {
    await Promise.all([child, ...replicas].map(end));
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const links: string[] = [];
    const url = await ready(child, (line) => links.push(...(SETUP.exec(line)?.slice(1) ?? [])));
    const setupLink = async () => {
      while (links.length === 0) await once(child.stdout!, "data");
      return links[0]!;
    };
    const kill = async () => {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    };
    const restart = async () => {
      child = launch(new URL(url).port);
      await ready(child);
    };
    const replica = async () => {
      if (mysqlServer === undefined) return undefined;
      const one = launch("0");
      replicas.push(one);
      return await ready(one);
    };
    const files = async () => {
      const entries = await readdir(folder, { recursive: true, withFileTypes: true });
      const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
      return new Map(await Promise.all(paths.map(async (path) => [path, await readFile(path)] as const)));
    };
    return { url, database: database.url, files, output: () => output.join(""), setupLink, kill, restart, replica, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Waits for the line that names the server's address, and returns the address. Passes each line of standard output to `onLine`. */
async function ready(child: ChildProcess, onLine = (_line: string) => {}): Promise<string> {
  const log: string[] = [];
  const lines = createInterface({ input: child.stdout! });
  child.stderr!.on("data", (data) => log.push(String(data)));
  const address = new Promise<string>((resolve, reject) => {
    lines.on("line", (line) => {
      log.push(`${line}\n`);
      onLine(line);
      const found = READY.exec(line)?.[1];
      if (found) resolve(found);
    });
    child.once("error", reject);
    child.once("exit", (code, signal) => reject(new Error(`the server ended (${signal ?? code}):\n${log.join("")}`)));
    setTimeout(() => reject(new Error(`the server is not ready in time:\n${log.join("")}`)), START_LIMIT_MS).unref();
  });
  return address;
}

/** Asks the server to shut down, and kills it after `STOP_LIMIT_MS`. */
async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  const insist = setTimeout(() => child.kill("SIGKILL"), STOP_LIMIT_MS);
  child.kill("SIGTERM");
  await ended;
  clearTimeout(insist);
}
