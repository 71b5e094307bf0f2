// Prints the results of the benchmarks as one table: name, figure, goal.

import type { Reporter, TestCase, TestResult } from "@playwright/test/reporter";
import { basename } from "node:path";
import { FIGURE, type Figure, QUICK } from "./figure.ts";

export default class Table implements Reporter {
  private readonly rows: string[][] = [];

  onTestEnd(test: TestCase, result: TestResult): void {
    const bench = basename(test.location.file, ".spec.ts");
    for (const { type, description } of result.annotations) {
      if (type !== FIGURE || description === undefined) continue;
      const { name, value, unit, goal } = JSON.parse(description) as Figure;
      const shown = Number(value.toPrecision(3));
      this.rows.push([`${bench}, ${test.title}: ${name}`, said(shown, unit), goal === undefined ? "" : aim(shown, goal, unit)]);
    }
  }

  onEnd(): void {
    const head = ["name", "figure", QUICK ? "goal (these are the quick builds: nothing here counts)" : "goal"];
    const table = [head, ...this.rows];
    const widths = head.map((_, column) => Math.max(...table.map((row) => row[column]!.length)));
    for (const row of table) {
      console.log(row.map((cell, column) => (column === 1 ? cell.padStart(widths[1]!) : cell.padEnd(widths[column]!))).join("  ").trimEnd());
    }
  }

  printsToStdio(): boolean {
    return true;
  }
}

function said(value: number, unit: string): string {
  return unit === "" ? String(value) : `${value} ${unit}`;
}

function aim(value: number, goal: number, unit: string): string {
  return `${goal === 0 ? "0" : `≤ ${said(goal, unit)}`}${value > goal ? ", missed" : ""}`;
}
