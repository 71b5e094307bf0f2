// A first visit to a page, and what it costs.

import { type Browser, type BrowserType, type Page, expect } from "@playwright/test";
import { chromium } from "../kit/chromium.ts";

/** A browser that has started is `busy` no longer than this `within` the other, which comes before `timeout`; in milliseconds. */
const AT_REST = { busy: 10, within: 250, timeout: 15_000 };
/** Nothing happens for so long: the page has settled. */
const QUIET_MS = 1000;
/** What the page says on its console then. */
const SETTLED = "settled";
/** By how many times a slow processor is slower than this one. */
const SLOWDOWN = 4;
/** What the files of a page are called in the table, by what their addresses end in. */
const KINDS = [".js", ".wasm", ".css", ".svg"];

declare global {
  interface Window {
    first: { paint: number; shift: number; blocking: number; last: number; writable: number; alive: number };
  }
}

/** What one visit cost. */
export interface Visit {
  /** Bytes on the wire, headers included, by the kind of file. */
  bytes: Map<string, number>;
  /** When the largest thing was painted, in milliseconds. */
  paint: number;
  /** The cumulative layout shift. */
  shift: number;
  /** How long tasks went on beyond 50 ms, summed up. */
  blocking: number;
  /** When one saw the message field and could write in it, in milliseconds. */
  writable: number;
  /** When it was `alive`, in milliseconds. */
  alive: number;
}

/** What a visit is to be beside the usual. */
interface How {
  /** Done when the page has settled; then what is told is what this cost. */
  act?: (page: Page) => Promise<void>;
  /** Whether the browser's processor is a slow one (`slowDown`). */
  slow?: boolean;
}

/** Visits a page with a browser that never saw it, until it is `alive` and settled. */
export async function visit(browsers: BrowserType, address: string, alive: string, how: How = {}): Promise<Visit> {
  const { act, slow } = how;
  const browser = await browsers.launch(chromium.launchOptions);
  const page = await browser.newPage();
  const bytes = await count(page);
  // A page that is slowed down keeps a processor busy.
  await comeToRest(browser);
  if (slow) await slowDown(page);
  await page.addInitScript(observe, { alive, quiet: QUIET_MS, settled: SETTLED });
  // Nothing is asked of the page meanwhile: Playwright would have it run a large script of its own first.
  const settles = page.waitForEvent("console", { predicate: (message) => message.text() === SETTLED });
  await page.goto(address, { waitUntil: "commit" });
  await settles;
  if (act) {
    bytes.clear();
    await page.evaluate(() => {
      window.first.blocking = 0;
    });
    await act(page);
    await page.waitForFunction((quiet) => performance.now() - window.first.last > quiet, QUIET_MS, { polling: 100 });
  }
  const first = await page.evaluate(() => window.first);
  expect(first.paint, "something was painted").toBeGreaterThan(0);
  await browser.close();
  return { bytes, ...first };
}

/** Waits until the browser has started, which takes it more than a second of both processors: whoever visits a page has one that runs. */
async function comeToRest(browser: Browser): Promise<void> {
  const devtools = await browser.newBrowserCDPSession();
  let before = 0;
  const busy = async () => {
    const { processInfo } = await devtools.send("SystemInfo.getProcessInfo");
    const now = processInfo.reduce((sum, { cpuTime }) => sum + 1000 * cpuTime, 0);
    // Less than before when a process has ended.
    const busy = Math.abs(now - before);
    before = now;
    return busy;
  };
  const { within, timeout } = AT_REST;
  await expect.poll(busy, { message: "the browser comes to rest", intervals: [within], timeout }).toBeLessThanOrEqual(AT_REST.busy);
  await devtools.detach();
}

/** Makes the processor slower for a page. */
export async function slowDown(page: Page): Promise<void> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Emulation.setCPUThrottlingRate", { rate: SLOWDOWN });
}

/** Counts what is loaded from now on. What goes on without end, as a stream of events does, is not counted. */
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

/** Notes, in the page, what it is like for the visitor, and says when it is `alive` and has been `quiet` for so many milliseconds. */
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
    // It is looked for in a frame's callbacks, and the task after those comes when that frame has been painted.
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
