// A figure that a bench took, on its way to the table (`table.ts`).

import { test } from "@playwright/test";

/** What a figure's annotation is called. */
export const FIGURE = "figure";

/** Whether everything is to be short, for a first look: such figures do not count. */
export const QUICK = Boolean(process.env.BENCH_QUICK);

/** One line of the table. */
export interface Figure {
  name: string;
  value: number;
  /** What stands after the number. */
  unit: string;
  /** What the value should be at most; nothing where it only explains another. */
  goal?: number;
}

/** Puts a figure into the table. */
export function figure(name: string, value: number, unit: string, goal?: number): void {
  test.info().annotations.push({ type: FIGURE, description: JSON.stringify({ name, value, unit, goal } satisfies Figure) });
}

/** The middle one of the values. */
export function median(values: number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}

/** The value that this share of the values does not exceed, from 0 to 1. */
export function percentile(values: number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}
