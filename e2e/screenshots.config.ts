// Playwright settings for the pictures in docs/images, which are not tests. `cargo xtask screenshots` runs this.

import { defineConfig } from "@playwright/test";
import { chromium } from "./kit/chromium.ts";

export default defineConfig({
  testDir: "screenshots",
  workers: 1,
  timeout: 60_000,
  reporter: [["list"]],
  use: chromium,
});
