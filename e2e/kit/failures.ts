// Reporter that repeats all failures briefly at the end of the output, because often only the end of a long log is kept.

import type { FullConfig, Reporter, TestCase, TestResult } from "@playwright/test/reporter";
import { relative } from "node:path";
import { stripVTControlCharacters } from "node:util";

/** Limits for the text of an error. They leave room for the expected value, the actual value, and the place. */
const MAX_LINES = 12;
const MAX_CHARACTERS = 1_000;

export default class Failures implements Reporter {
  private folder = "";
  private readonly failures: string[] = [];

  onBegin(config: FullConfig): void {
    this.folder = config.rootDir;
  }

  onTestEnd(test: TestCase, result: TestResult): void {
    if (result.status === test.expectedStatus) return;
    const place = `${relative(this.folder, test.location.file)}:${test.location.line}`;
    const [, project] = test.titlePath();
    this.failures.push(`[${project}] ${place}, try ${result.retry + 1}: ${result.status}`);
    for (const { message = "", location } of result.errors) {
      const lines = stripVTControlCharacters(message).split("\n").filter((line) => line.trim() !== "");
      this.failures.push(indented(lines.slice(0, MAX_LINES).join("\n").slice(0, MAX_CHARACTERS)));
      if (location) this.failures.push(indented(`at ${relative(this.folder, location.file)}:${location.line}`));
    }
  }

  onEnd(): void {
    if (this.failures.length > 0) console.log(["", "What failed, try by try:", ...this.failures].join("\n"));
  }

  // Another reporter lists each test; this one only adds to its output.
  printsToStdio(): boolean {
    return false;
  }
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, "    ");
}
