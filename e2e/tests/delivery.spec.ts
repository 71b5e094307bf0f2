// Tests how the page is delivered: from file names that change with their content, and with a policy that blocks all other scripts.

import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { ChatPage, alive } from "../kit/chat.ts";
import { converse } from "../kit/converse.ts";
import { expect, test } from "../kit/test.ts";

test("the browser caches the page's files and requests each once", async ({ page, request }) => {
  const files: string[] = [];
  page.on("response", (response) => {
    const { pathname } = new URL(response.url());
    if (pathname.startsWith("/pkg/")) files.push(pathname);
  });
  await page.goto("/");
  await alive(page);
  const names = files.map((file) => file.replace(/^\/pkg\/[0-9a-f]{16}\//, ""));
  expect(names.toSorted(), "each file once, including preloaded files").toEqual([
    "serif.woff2",
    "tallybook.css",
    "tallybook.js",
    "tallybook_bg.wasm",
  ]);
  for (const file of files) {
    const response = await request.get(file);
    expect(response.headers()["cache-control"]).toBe("public, max-age=31536000, immutable");
    expect(response.headers()["x-content-type-options"]).toBe("nosniff");
    const again = await request.get(file, { headers: { "if-none-match": response.headers().etag ?? "" } });
    expect(again.status()).toBe(304);
    const other = await request.get(file.replace(/^\/pkg\/.{16}/, "/pkg/0123456789abcdef"));
    expect(other.status()).toBe(404);
  }
});

test("every page has a content security policy", async ({ request }) => {
  const nonces = new Set<string>();
  for (const address of ["/", "/nowhere", "/c/01890a5d-ac96-774b-bcce-b302099a8057"]) {
    const response = await request.get(address);
    const headers = response.headers();
    const policy = headers["content-security-policy"] ?? "";
    expect(policy, address).toContain("frame-ancestors 'none'");
    expect(policy, address).toContain("'wasm-unsafe-eval'");
    expect(policy, address).not.toMatch(/unsafe-inline|'unsafe-eval'/);
    expect(headers["x-content-type-options"], address).toBe("nosniff");
    expect(headers["referrer-policy"], address).toBe("same-origin");
    const nonce = /'nonce-([^']+)'/.exec(policy)?.[1];
    expect(await response.text(), address).toContain(`nonce="${nonce}"`);
    nonces.add(nonce!);
  }
  expect(nonces.size, "each nonce is used only once").toBe(3);
});

test("foreign scripts and resources neither run nor load", async ({ page, tolerated }) => {
  tolerated.push(/Content Security Policy/);
  await page.goto("/");
  await alive(page);
  const refused = await page.evaluate(async () => {
    const refused: string[] = [];
    document.addEventListener("securitypolicyviolation", (event) => refused.push(event.effectiveDirective));
    const add = (tag: string, attributes: Record<string, string>, text = "") => {
      const element = Object.assign(document.createElement(tag), { textContent: text });
      for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
      document.body.append(element);
    };
    const place = document.createElement("div");
    document.body.append(place);
    place.innerHTML = `<img src="data:," onerror="window.ran = true"><p style="color: red">styled</p>`;
    add("style", {}, "p { color: red }");
    add("base", { href: "https://example.com/" });
    await fetch("https://example.com/").catch(() => {});
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    return { directives: [...new Set(refused)].toSorted(), ran: "ran" in window };
  });
  expect(refused.ran).toBe(false);
  expect(refused.directives).toEqual([
    "base-uri",
    "connect-src",
    "img-src",
    "script-src-attr",
    "style-src-attr",
    "style-src-elem",
  ]);
});

test("the policy blocks nothing on Tallybook's own pages", async ({ page, tolerated }) => {
  tolerated.push(/status of 404/);
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) => {
      console.error(`refused by ${event.effectiveDirective}: ${event.blockedURI}`);
    });
  });
  const chat = new ChatPage(page);
  await page.goto("/");
  await chat.ask("What is 12.5 + 7.25?");
  await page.reload();
  await expect(chat.answers).toHaveCount(1);
  for (const address of ["/nowhere", "/c/01890a5d-ac96-774b-bcce-b302099a8057", "/c/nonsense"]) {
    const response = await page.goto(address);
    expect(response!.headers()["content-security-policy"], address).toContain("'strict-dynamic'");
    await expect(page.getByRole("heading", { level: 1 }).last(), address).toBeVisible();
  }
  await alive(page);
});

test("a slow page is first shown when it is complete", async ({ browser, request }) => {
  const address = await converse(request, 2);
  const html = await (await request.get(address)).text();
  // This server sends the styles at once. It sends the second half of the HTML after the browser had every opportunity to show the
  // first half.
  const styles = new Map<string, Buffer>();
  for (const [, style] of html.matchAll(/<link rel="stylesheet" href="([^"]+)"/g)) {
    styles.set(style!, await (await request.get(style!)).body());
  }
  expect(styles.size, "how messages look, too").toBe(2);
  const half = html.indexOf("<article", html.indexOf("<article") + 1);
  let finish = () => {};
  const slow = createServer((asked, answer) => {
    const style = styles.get(asked.url!);
    if (style) answer.writeHead(200, { "content-type": "text/css" }).end(style);
    else if (asked.url !== address) answer.writeHead(404).end();
    else {
      answer.writeHead(200, { "content-type": "text/html; charset=utf-8" }).write(html.slice(0, half));
      finish = () => answer.end(html.slice(half));
    }
  });
  slow.listen(0, "127.0.0.1");
  await once(slow, "listening");
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`http://127.0.0.1:${(slow.address() as AddressInfo).port}${address}`, { waitUntil: "commit" });
  await expect(page.locator("article")).toHaveCount(1);
  await expect(page.locator(".bubble")).toHaveCSS("white-space", "pre-wrap");
  for (let look = 0; look < 20; look++) await page.evaluate(() => document.body.scrollHeight);
  finish();
  await expect(page.locator("article")).toHaveCount(4);
  const painted = () => page.evaluate(() => performance.getEntriesByType("paint").map((paint) => paint.startTime));
  await expect.poll(painted).not.toEqual([]);
  const whole = await page.evaluate(() => {
    const [navigation] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
    return navigation!.responseEnd;
  });
  expect(Math.min(...(await painted()))).toBeGreaterThanOrEqual(whole);
  await context.close();
  slow.closeAllConnections();
  slow.close();
});

test("the licenses of all parts travel with the server and with the program", async ({ request }) => {
  const served = await (await request.get("/licenses")).text();
  for (const part of ["actix-web ", "leptos ", "sqlx ", "libsqlite3-sys ", "libmimalloc-sys ", "Apache License", "MIT License"]) {
    expect(served, part).toContain(part);
  }
  const { stdout } = await promisify(execFile)(process.env.TALLYBOOK_BIN!, ["licenses"], { maxBuffer: 16 * 1024 * 1024 });
  expect(stdout.trim()).toBe(served.trim());
});
