// The browser tests: one project per database, and a tour in Firefox. `cargo xtask test` sets what is read from the
// environment here.

import { defineConfig } from "@playwright/test";
import { chromium } from "./kit/chromium.ts";
import { mysqlServers } from "./kit/database.ts";
import { firefox } from "./kit/firefox.ts";
import type { ServerOptions } from "./kit/server.ts";

export default defineConfig<object, ServerOptions>({
  testDir: "tests",
  // One that passes at its second try is told of as flaky, and is to be mended: a browser, a server and a database share
  // the machine with as many others, and no run of hundreds should be lost to one late frame.
  retries: 1,
  // A test left switched off is a failure.
  forbidOnly: true,
  // Each worker runs a server and a browser. Most of a slow test is waiting.
  workers: 3,
  timeout: 120_000,
  expect: { timeout: 30_000 },
  reporter: [["list"], ["./kit/failures.ts"]],
  // What goes through a service worker is out of the tests' sight; the one test of ours allows it.
  // A trace of each test would take a quarter of the time; of one that fails, `--trace on` makes it.
  use: { screenshot: "only-on-failure", serviceWorkers: "block" },
  projects: [
    { name: "sqlite", use: { ...chromium, mysqlServer: undefined } },
    // What is the same on every database is tried on one.
    ...mysqlServers().map((mysqlServer) => ({
      name: `mysql-${new URL(mysqlServer).port || "3306"}`,
      testMatch: /(accounts|branches|consent-live|conversation|crash|errors|reload|sidebar|tool-servers)\.spec\.ts$/,
      use: { ...chromium, mysqlServer },
    })),
    { name: "firefox", testDir: "firefox", use: firefox },
  ],
});
