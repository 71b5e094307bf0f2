// Tests the Codex CLI, which uses the agent as a model through the Responses API. Codex runs its own tools, Tallybook runs the
// server's tools, and a session is one conversation. Run it with `node --test codex.test.mjs`, and with `TALLYBOOK_URL`,
// `TALLYBOOK_KEY`, and the path of the program (npm package @openai/codex) in `CODEX`. The model `by-hand` answers `use NAME A B`
// with a call of that tool, and other texts with an echo.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

const { TALLYBOOK_URL: url, TALLYBOOK_KEY: key, CODEX: program } = process.env;
const run = promisify(execFile);
let home;

before(async () => {
  home = await mkdtemp(join(tmpdir(), "codex-"));
  const config = [
    'model = "by-hand"',
    'model_provider = "tallybook"',
    // The model answers the user's last text. Without the context, that is the question.
    "include_environment_context = false",
    "[model_providers.tallybook]",
    'name = "Tallybook"',
    `base_url = "${url}/v1"`,
    'env_key = "TALLYBOOK_KEY"',
    'wire_api = "responses"',
    "request_max_retries = 0",
    "stream_max_retries = 0",
  ];
  await writeFile(join(home, "config.toml"), config.join("\n"));
});

after(() => rm(home, { recursive: true, force: true }));

/** Runs Codex with a question, and returns its events, which it prints as one JSON object per line. */
async function codex(...args) {
  const options = { cwd: home, env: { ...process.env, CODEX_HOME: home }, timeout: 60_000 };
  const running = run(program, ["exec", ...args, "--json", "--skip-git-repo-check"], options);
  running.child.stdin.end();
  const { stdout } = await running;
  return stdout.trim().split("\n").map((line) => JSON.parse(line));
}

async function conversations() {
  const response = await fetch(`${url}/api/conversations?limit=100`, { headers: { authorization: `Bearer ${key}` } });
  return (await response.json()).items;
}

/** Returns the last text of an answer. */
function said(events) {
  const messages = events.filter((event) => event.type === "item.completed" && event.item.type === "agent_message");
  return messages.at(-1)?.item.text;
}

test("Tallybook's tools run on the server, and Codex gets the answer", async () => {
  const events = await codex("use add 0.1 0.2");
  assert.match(said(events), /"result":"0.3"/);
  assert.equal(events.at(-1).type, "turn.completed");
});

test("a tool of Codex's runs in Codex, and the answer continues with its result in one conversation", async () => {
  const earlier = (await conversations()).length;
  const events = await codex("use get_goal");
  assert.match(said(events), /The tool says/);
  assert.equal((await conversations()).length, earlier + 1);
});

test("a session is one conversation", async () => {
  const earlier = (await conversations()).length;
  const first = await codex("hello");
  assert.match(said(first), /hello/);
  const session = first.find((event) => event.type === "thread.started").thread_id;
  const second = await codex("resume", session, "again");
  assert.match(said(second), /again/);
  assert.equal((await conversations()).length, earlier + 1);
});

test("a tool in a namespace of Codex is found", async () => {
  const events = await codex("use multi_agent_v1__close_agent x");
  // Codex rejects the arguments, because they do not match its schema.
  assert.match(said(events), /The tool says: failed to parse function arguments/);
});
