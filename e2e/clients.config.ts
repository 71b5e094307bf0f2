// Playwright settings for third-party clients that are written in TypeScript or have a web page. `cargo xtask clients` starts the
// Tallybook server that they are tested against, and passes its address.

import { defineConfig } from "@playwright/test";
import { chromium } from "./kit/chromium.ts";

export default defineConfig({
  testDir: "clients",
  forbidOnly: true,
  // All tests of a client share one server, and they count its conversations.
  workers: 1,
  timeout: 60_000,
  expect: { timeout: 30_000 },
  reporter: [["list"]],
  outputDir: "test-results/clients",
  use: { ...chromium, screenshot: "only-on-failure" },
});
