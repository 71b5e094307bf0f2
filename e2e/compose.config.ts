// The tests of a server that is already there, on MySQL, as docker-compose.yml puts them together. `cargo xtask compose` runs
// this in a container.

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
