// A static copy of a page without scripts, as a baseline: the cost of a visit that any browser has in any case.

import { once } from "node:events";
import { type IncomingHttpHeaders, createServer, get } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync } from "node:zlib";
import { type BrowserType, expect } from "@playwright/test";
import { type Visit, visit } from "./visit.ts";

/** Visits the page at `path` and its static copy alternately, `rounds` times each. */
export async function visitBoth(
  browsers: BrowserType,
  url: string,
  path: string,
  rounds: number,
  how: { slow?: boolean } = {},
): Promise<{ ours: Visit[]; theirs: Visit[] }> {
  const still = await startStill(url, path);
  const [ours, theirs]: [Visit[], Visit[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    ours.push(await visit(browsers, url + path, "body[data-alive]", how));
    theirs.push(await visit(browsers, still.url, "body", how));
  }
  await still.stop();
  return { ours, theirs };
}

/** Starts a server for one page: the HTML that Tallybook renders at `path`, its stylesheets and icons, but no scripts. */
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

/** Fetches an address as a browser would, and returns the body as it was transferred, without decompressing it. */
export async function fetchRaw(address: string, encodings = "gzip, deflate, br, zstd"): Promise<Raw> {
  const asked = get(address, { headers: { "accept-encoding": encodings } });
  const [response] = await once(asked, "response");
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part);
  expect(response.statusCode, address).toBe(200);
  return { headers: response.headers, body: Buffer.concat(parts) };
}
