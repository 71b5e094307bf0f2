// Not tests: measurements of the page, printed. Run them on a release build of page and server.

import { defineConfig } from "@playwright/test";
import { chromium } from "./kit/chromium.ts";

export default defineConfig({
  testDir: "bench",
  workers: 1,
  timeout: 600_000,
  expect: { timeout: 300_000 },
  reporter: [["line"]],
  use: chromium,
});
