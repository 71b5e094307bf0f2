// The real server program, in a folder of its own, on a port of its own, with the demo model.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createDatabase } from "./database.ts";

/** What a project decides about its servers. */
export interface ServerOptions {
  /** The URL of a MySQL server to keep the data on; SQLite when undefined. */
  mysqlServer: string | undefined;
  /** How many milliseconds the demo model pauses between two words; the server's own default when undefined. */
  demoPaceMs: number | undefined;
  /** Whether a model of the test's own answers, instead of the demo model. */
  scripted: boolean;
  /** Further settings, by the names of their environment variables. */
  settings: Record<string, string>;
}

/** A running server. */
export interface Server {
  url: string;
  /** Where its data is. */
  database: string;
  /** The link by which the first admin is made, once it is printed. */
  setupLink(): Promise<string>;
  /** Kills the program, as `kill -9` does. */
  kill(): Promise<void>;
  /** Starts a killed program again, at the same address and on what it left. */
  restart(): Promise<void>;
  /** The address of one more server on the same data; none where the data are one program's alone. */
  replica(): Promise<string | undefined>;
  stop(): Promise<void>;
}

const START_LIMIT_MS = 30_000;
const STOP_LIMIT_MS = 20_000;
const READY = /^Tallybook is ready at (http:\/\/\S+)/;
const SETUP = /^\s*setup: (http:\/\/\S+)/;

/** Starts a server and waits until it says that it is ready. Without a model's address the demo model answers. */
export async function startServer(
  { mysqlServer, demoPaceMs, settings }: Omit<ServerOptions, "scripted">,
  modelUrl?: string,
): Promise<Server> {
  const program = process.env.TALLYBOOK_BIN;
  if (!program) throw new Error("TALLYBOOK_BIN must name the server program: run the tests with `cargo xtask test`");
  const folder = await mkdtemp(join(tmpdir(), "tallybook-e2e-"));
  const database = await createDatabase(mysqlServer, folder);
  // Keys and settings of whoever runs the tests must not get in.
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
  const launch = (port: string) =>
    spawn(program, { cwd: folder, env: { ...env, PORT: port }, stdio: ["ignore", "pipe", "pipe"] });
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
    return { url, database: database.url, setupLink, kill, restart, replica, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Waits for the line that names the address. Whatever it prints is told. */
async function ready(child: ChildProcess, told = (_line: string) => {}): Promise<string> {
  const log: string[] = [];
  const lines = createInterface({ input: child.stdout! });
  child.stderr!.on("data", (data) => log.push(String(data)));
  const address = new Promise<string>((resolve, reject) => {
    lines.on("line", (line) => {
      log.push(`${line}\n`);
      told(line);
      const found = READY.exec(line)?.[1];
      if (found) resolve(found);
    });
    child.once("error", reject);
    child.once("exit", (code, signal) => reject(new Error(`the server ended (${signal ?? code}):\n${log.join("")}`)));
    setTimeout(() => reject(new Error(`the server is not ready in time:\n${log.join("")}`)), START_LIMIT_MS).unref();
  });
  return address;
}

/** Asks the server to end, and insists when it does not. */
async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  const insist = setTimeout(() => child.kill("SIGKILL"), STOP_LIMIT_MS);
  child.kill("SIGTERM");
  await ended;
  clearTimeout(insist);
}
