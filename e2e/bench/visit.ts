// Visits a page with a new browser, and measures the cost.

import { type Browser, type BrowserType, type Page, expect } from "@playwright/test";
import { chromium } from "../kit/chromium.ts";

/** A started browser is at rest when it uses at most `busy` of CPU time `within` an interval. All values are in milliseconds. */
const AT_REST = { busy: 10, within: 250, timeout: 15_000 };
/** The page has settled when nothing has happened for this time, in milliseconds. */
const QUIET_MS = 1000;
/** Text that the page then logs to its console. */
const SETTLED = "settled";
/** Factor by which a simulated slow processor is slower than this machine's. */
const SLOWDOWN = 4;
/** Kinds of files in the table, by the end of their path. */
const KINDS = [".js", ".wasm", ".css", ".svg"];

declare global {
  interface Window {
    first: { paint: number; shift: number; blocking: number; last: number; writable: number; alive: number };
  }
}

/** Cost of one visit. */
export interface Visit {
  /** Bytes transferred, including headers, by kind of file. */
  bytes: Map<string, number>;
  /** Time of the largest contentful paint, in milliseconds. */
  paint: number;
  /** Cumulative layout shift. */
  shift: number;
  /** Total blocking time: the sum of each task's duration beyond 50 ms, in milliseconds. */
  blocking: number;
  /** Time when the message field was painted and enabled, in milliseconds. */
  writable: number;
  /** Time when the page matched `alive`, in milliseconds. */
  alive: number;
}

/** Options of a visit. */
interface How {
  /** Runs when the page has settled. The bytes and the blocking time of the visit are then those of this action. */
  act?: (page: Page) => Promise<void>;
  /** `true` to slow down the browser's processor (`slowDown`). */
  slow?: boolean;
}

/**
 * Visits a page with a new browser, until the page matches the selector `alive` and has settled. The visitor then moves the mouse
 * and goes to the message field. Returns the cost.
 */
export async function visit(browsers: BrowserType, address: string, alive: string, how: How = {}): Promise<Visit> {
  const { act, slow } = how;
  const browser = await browsers.launch(chromium.launchOptions);
  const page = await browser.newPage();
  const bytes = await count(page);
  // Before the slowdown, because a page that is slowed down keeps a processor busy.
  await comeToRest(browser);
  if (slow) await slowDown(page);
  await page.addInitScript(observe, { alive, quiet: QUIET_MS, settled: SETTLED });
  // The test does not query the page meanwhile: Playwright would first run a large script of its own in it.
  const settles = page.waitForEvent("console", { predicate: (message) => message.text() === SETTLED });
  await page.goto(address, { waitUntil: "commit" });
  await settles;
  // Every visitor moves the mouse and goes to the message field.
  await page.mouse.move(300, 300);
  await page.mouse.move(600, 400);
  await page.locator("#composer").focus();
  await settled(page);
  if (act) {
    bytes.clear();
    await page.evaluate(() => {
      window.first.blocking = 0;
    });
    await act(page);
    await settled(page);
  }
  const first = await page.evaluate(() => window.first);
  expect(first.paint, "the page was painted").toBeGreaterThan(0);
  await browser.close();
  return { bytes, ...first };
}

/** Waits until nothing has happened on the page for a while. */
async function settled(page: Page): Promise<void> {
  await page.waitForFunction((quiet) => performance.now() - window.first.last > quiet, QUIET_MS, { polling: 100 });
}

/**
 * Waits until the browser has finished starting. That takes more than a second of both processors, but a real visitor's browser
 * is already running.
 */
async function comeToRest(browser: Browser): Promise<void> {
  const devtools = await browser.newBrowserCDPSession();
  let before = 0;
  const busy = async () => {
    const { processInfo } = await devtools.send("SystemInfo.getProcessInfo");
    const now = processInfo.reduce((sum, { cpuTime }) => sum + 1000 * cpuTime, 0);
    // The sum is less than before when a process has ended.
    const busy = Math.abs(now - before);
    before = now;
    return busy;
  };
  const { within, timeout } = AT_REST;
  await expect.poll(busy, { message: "the browser is idle", intervals: [within], timeout }).toBeLessThanOrEqual(AT_REST.busy);
  await devtools.detach();
}

/** Slows down the processor for a page. */
export async function slowDown(page: Page): Promise<void> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Emulation.setCPUThrottlingRate", { rate: SLOWDOWN });
}

/** Counts the bytes of all loads from now on, by kind of file. Loads that do not end, such as event streams, do not count. */
async function count(page: Page): Promise<Map<string, number>> {
  const bytes = new Map<string, number>();
  const kinds = new Map<string, string>();
  const network = await page.context().newCDPSession(page);
  await network.send("Network.enable");
  network.on("Network.requestWillBeSent", ({ requestId, request, type }) => {
    const { pathname } = new URL(request.url);
    const kind = type === "Document" ? "document" : (KINDS.find((end) => pathname.endsWith(end)) ?? "data");
    kinds.set(requestId, kind);
  });
  network.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
    const kind = kinds.get(requestId) ?? "data";
    bytes.set(kind, (bytes.get(kind) ?? 0) + encodedDataLength);
  });
  return bytes;
}

/**
 * Runs in the page: records what the visitor experiences. Logs `settled` when the selector `alive` has matched and nothing has
 * happened for `quiet` milliseconds.
 */
function observe({ alive, quiet, settled }: { alive: string; quiet: number; settled: string }): void {
  const first = { paint: 0, shift: 0, blocking: 0, last: 0, writable: 0, alive: 0 };
  window.first = first;
  const look = (selector: string, seen: () => void) => {
    if (document.querySelector(selector)) seen();
    else requestAnimationFrame(() => look(selector, seen));
  };
  look(alive, () => {
    first.alive = performance.now();
    const settle = () => {
      if (performance.now() - Math.max(first.alive, first.last) > quiet) console.debug(settled);
      else setTimeout(settle, 100);
    };
    settle();
  });
  look("#composer:enabled", () => {
    // `look` runs in a frame's callbacks, so a task that it queues runs after that frame has been painted.
    setTimeout(() => {
      first.writable = performance.now();
    });
  });
  const note = (type: string, take: (entry: PerformanceEntry) => void) =>
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        take(entry);
        first.last = performance.now();
      }
    }).observe({ type, buffered: true });
  note("largest-contentful-paint", (entry) => {
    first.paint = entry.startTime;
  });
  note("layout-shift", (entry) => {
    first.shift += (entry as PerformanceEntry & { value: number }).value;
  });
  note("longtask", (entry) => {
    first.blocking += entry.duration - 50;
  });
  note("resource", () => {});
}
