// Playwright settings for the browser tests: one project per database, and a tour in Firefox. `cargo xtask test` sets the
// environment variables that this file reads.

import { defineConfig } from "@playwright/test";
import { chromium } from "./kit/chromium.ts";
import { mysqlServers } from "./kit/database.ts";
import { firefox } from "./kit/firefox.ts";
import type { ServerOptions } from "./kit/server.ts";

export default defineConfig<object, ServerOptions>({
  testDir: "tests",
  // A browser, a server and a database share the machine with as many others, and one late frame should not fail a run of
  // hundreds of tests. Playwright reports a test that passes on its retry as flaky; such a test must be fixed.
  retries: 1,
  // Fails the run if a `test.only` is left in the code: it would skip all other tests.
  forbidOnly: true,
  // Each worker runs a server and a browser. A slow test spends most of its time waiting.
  workers: 3,
  timeout: 120_000,
  expect: { timeout: 30_000 },
  reporter: [["list"], ["./kit/failures.ts"]],
  // Playwright cannot intercept requests that a service worker makes, so service workers are blocked. The one test of Tallybook's
  // service worker allows them. A trace of each test would take a quarter of the time; to trace a failing test, use `--trace on`.
  use: { screenshot: "only-on-failure", serviceWorkers: "block" },
  projects: [
    { name: "sqlite", use: { ...chromium, mysqlServer: undefined } },
    // Tests whose behavior is the same on every database run on SQLite only.
    ...mysqlServers().map((mysqlServer) => ({
      name: `mysql-${new URL(mysqlServer).port || "3306"}`,
      testMatch: /(accounts|branches|approval-live|conversation|crash|errors|reload|sidebar|tool-servers)\.spec\.ts$/,
      use: { ...chromium, mysqlServer },
    })),
    { name: "firefox", testDir: "firefox", use: firefox },
  ],
});
