// What a first visit costs, beside a page of the same content without a program: each round a new browser that has nothing
// kept, the two by turns.

import { once } from "node:events";
import { type IncomingHttpHeaders, createServer, get } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync } from "node:zlib";
import type { BrowserType } from "@playwright/test";
import { ChatPage } from "../kit/chat.ts";
import { expect, test } from "../kit/test.ts";
import { QUICK, figure, median } from "./figure.ts";
import { type Visit, visit } from "./visit.ts";

test.use({ demoPaceMs: 0 });

const ROUNDS = QUICK ? 1 : 7;
/** Two messages each. */
const TURNS = 10;

const GOALS = { kilobytes: 330, paint: 2.5, shift: 0, blocking: 100 };

test("a new chat", async ({ playwright, server }) => {
  await compare(playwright.chromium, server.url, "/");
});

test(`a conversation of ${2 * TURNS} messages`, async ({ playwright, server, request }) => {
  const { uuid } = await (await request.post("/api/conversations", { data: {} })).json();
  for (let turn = 1; turn <= TURNS; turn++) {
    // The answer's events end with it.
    const sent = await request.post(`/api/conversations/${uuid}/messages`, { data: { content: `What is (12.5 + ${turn}) × 4?` } });
    expect(await sent.text()).toContain("event: message_end");
  }
  await compare(playwright.chromium, server.url, `/c/${uuid}`);
});

test("the first message", async ({ playwright, server }) => {
  const costs: Visit[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    costs.push(
      await visit(playwright.chromium, `${server.url}/`, "body[data-alive]", {
        act: async (page) => {
          await new ChatPage(page).ask("What is (12.5 + 7.25) × 4?");
        },
      }),
    );
  }
  const bytes = costs[0]!.bytes;
  const all = [...bytes.values()].reduce((sum, size) => sum + size, 0);
  figure("on the wire in all", all / 1000, "KB");
  for (const [kind, size] of bytes) figure(`of that ${kind}`, size / 1000, "KB");
  figure("blocking time", median(costs.map((cost) => cost.blocking)), "ms", GOALS.blocking);
});

async function compare(browsers: BrowserType, url: string, path: string): Promise<void> {
  const still = await startStill(url, path);
  const ours: Visit[] = [];
  const theirs: Visit[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    ours.push(await visit(browsers, url + path, "body[data-alive]"));
    theirs.push(await visit(browsers, still.url, "body"));
  }
  await still.stop();

  const bytes = ours[0]!.bytes;
  const icon = await fetchRaw(`${url}/favicon.svg`);
  // A browser without a window shows no icon, and does not ask for it.
  if (!bytes.has(".svg")) bytes.set(".svg", icon.body.length);
  const all = [...bytes.values()].reduce((sum, size) => sum + size, 0);
  figure("on the wire in all", all / 1000, "KB", GOALS.kilobytes);
  for (const [kind, size] of bytes) figure(`of that ${kind}`, size / 1000, "KB");
  const paint = (visits: Visit[]) => median(visits.map((visit) => visit.paint));
  figure("largest paint, against the still page", paint(ours) / paint(theirs), "times", GOALS.paint);
  figure("largest paint", paint(ours), "ms");
  figure("largest paint of the still page", paint(theirs), "ms");
  figure("layout shift, the worst round", Math.max(...ours.map((visit) => visit.shift)), "", GOALS.shift);
  figure("blocking time", median(ours.map((visit) => visit.blocking)), "ms", GOALS.blocking);
}

/** A server of one page: what the program renders at this address and how it looks, without the program. */
async function startStill(url: string, path: string): Promise<{ url: string; stop(): Promise<void> }> {
  const page = await fetchRaw(url + path, "identity");
  const html = String(page.body)
    .replace(/<script\b[^]*?<\/script>/g, "")
    .replace(/<link rel="(modulepreload|preload)"[^>]*>/g, "");
  expect(html).not.toMatch(/<script|preload/);
  const document = { headers: { "content-type": "text/html; charset=utf-8", "content-encoding": "br" }, body: brotliCompressSync(html) };
  const files = new Map<string, Raw>([["/", document]]);
  for (const [, address] of html.matchAll(/<link[^>]* href="([^"]+)"/g)) {
    const { headers, body } = await fetchRaw(url + address!);
    const { "content-type": type, "content-encoding": encoding, "cache-control": caching } = headers;
    files.set(address!, { headers: { "content-type": type, "cache-control": caching, ...(encoding && { "content-encoding": encoding }) }, body });
  }
  const server = createServer((request, response) => {
    const file = files.get(request.url ?? "");
    if (file) response.writeHead(200, { ...file.headers, "content-length": file.body.length }).end(file.body);
    else response.writeHead(404).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

interface Raw {
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** What travels when a browser asks for this, as it travels. */
async function fetchRaw(address: string, encodings = "gzip, deflate, br, zstd"): Promise<Raw> {
  const asked = get(address, { headers: { "accept-encoding": encodings } });
  const [response] = await once(asked, "response");
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part);
  expect(response.statusCode, address).toBe(200);
  return { headers: response.headers, body: Buffer.concat(parts) };
}
