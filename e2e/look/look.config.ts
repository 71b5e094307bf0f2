import { defineConfig } from "@playwright/test";
import { chromium } from "../kit/chromium.ts";
export default defineConfig({ testDir: ".", workers: 1, timeout: 120_000, reporter: [["line"]], use: chromium });
