// Playwright settings for the page benchmarks (`cargo xtask bench`). They print measurements; a missed goal does not fail the run.

import { defineConfig } from "@playwright/test";
import { chromium } from "./kit/chromium.ts";

export default defineConfig({
  testDir: "bench",
  workers: 1,
  timeout: 600_000,
  reporter: [["line"], ["./bench/table.ts"]],
  use: chromium,
});
