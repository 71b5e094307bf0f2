// Playwright settings for tests of a running server with MySQL, as docker-compose.yml sets it up. `cargo xtask compose` runs them
// in a container.

import { defineConfig } from "@playwright/test";
import { chromium } from "./kit/chromium.ts";

export default defineConfig({
  testDir: "compose",
  forbidOnly: true,
  workers: 1,
  timeout: 120_000,
  expect: { timeout: 30_000 },
  reporter: [["list"]],
  use: { ...chromium, serviceWorkers: "block" },
});
