// Measures how much memory of a page is in use after it has shown many conversations one after another.

import type { CDPSession } from "@playwright/test";
import { alive } from "../kit/chat.ts";
import { converse } from "../kit/converse.ts";
import { expect, test } from "../kit/test.ts";
import { QUICK, figure } from "./figure.ts";

test.use({ demoPaceMs: 0 });

/** Numbers of visits to conversations after which the memory is measured. */
const [FEW, MANY] = QUICK ? [2, 4] : [10, 100];
/** Number of turns of each conversation. */
const TURNS = 5;
/** Maximum of the memory after many visits, relative to that after few. */
const GROWTH_GOAL = 1.2;

/** Memory in use after garbage collection. */
interface Usage {
  /** Memory of JavaScript objects, the document and WASM, in MiB. */
  heap: number;
  nodes: number;
}

async function usage(session: CDPSession): Promise<Usage> {
  await session.send("HeapProfiler.collectGarbage");
  const heap = (await session.send("Runtime.getHeapUsage")) as Record<string, number>;
  const { nodes } = await session.send("Memory.getDOMCounters");
  const bytes = heap.usedSize! + (heap.embedderHeapUsedSize ?? 0) + (heap.backingStorageSize ?? 0);
  return { heap: bytes / 1024 ** 2, nodes };
}

test(`${MANY} conversations in one page`, async ({ page, request }) => {
  const addresses: string[] = [];
  // The list shows this many without loading more.
  for (let number = 0; number < 10; number++) addresses.push(await converse(request, TURNS));
  const session = await page.context().newCDPSession(page);
  await page.goto("/");
  await alive(page);
  const used: Usage[] = [];
  for (let visit = 1; visit <= MANY; visit++) {
    const address = addresses[visit % addresses.length]!;
    await page.getByTestId("sidebar").locator(`[href="${address}"]`).click();
    await expect(page).toHaveURL(address);
    await expect(page.locator("article")).toHaveCount(2 * TURNS);
    // Opens the calls of the last answer, which mounts their parts.
    await page.getByTestId("tool-group").last().click();
    await expect(page.getByTestId("tool-call").last()).toBeVisible();
    if (visit === FEW || visit === MANY) used.push(await usage(session));
  }
  const [few, many] = used as [Usage, Usage];
  figure(`memory after ${FEW} conversations`, few.heap, "MiB");
  figure(`memory after ${MANY} conversations`, many.heap, "MiB", few.heap * GROWTH_GOAL);
  figure(`nodes after ${FEW} conversations`, few.nodes, "");
  figure(`nodes after ${MANY} conversations`, many.nodes, "");
});
