// Not tests: measurements of the page, printed. `cargo xtask bench` runs this; a missed goal is no failure.

import { defineConfig } from "@playwright/test";
import { chromium } from "./kit/chromium.ts";

export default defineConfig({
  testDir: "bench",
  workers: 1,
  timeout: 600_000,
  reporter: [["line"], ["./bench/table.ts"]],
  use: chromium,
});
