// Programs of other people's that are written in TypeScript, or have a page: `cargo xtask clients` starts what they are tried
// on, and says where that is.

import { defineConfig } from "@playwright/test";
import { chromium } from "./kit/chromium.ts";

export default defineConfig({
  testDir: "clients",
  forbidOnly: true,
  // All of a program's tests have one server, whose conversations they count.
  workers: 1,
  timeout: 60_000,
  expect: { timeout: 30_000 },
  reporter: [["list"]],
  outputDir: "test-results/clients",
  use: { ...chromium, screenshot: "only-on-failure" },
});
