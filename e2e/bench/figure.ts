// A measured figure, which a benchmark passes to the table (`table.ts`) as a test annotation.

import { test } from "@playwright/test";

/** Type of the annotation that carries a figure. */
export const FIGURE = "figure";

/** `true` if all benchmarks are shortened for a quick check. Figures of such a run do not count. */
export const QUICK = Boolean(process.env.BENCH_QUICK);

/** One line of the table. */
export interface Figure {
  name: string;
  value: number;
  /** Unit, printed after the number. */
  unit: string;
  /** Maximum that the value should have. Absent if the figure only explains another figure. */
  goal?: number;
}

/** Adds a figure to the table. */
export function figure(name: string, value: number, unit: string, goal?: number): void {
  test.info().annotations.push({ type: FIGURE, description: JSON.stringify({ name, value, unit, goal } satisfies Figure) });
}

/** Returns the median of the values. */
export function median(values: number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}

/** Returns the smallest of the values that at least this share (0 to 1) of them does not exceed, or 0 if there are none. */
export function percentile(values: number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}
