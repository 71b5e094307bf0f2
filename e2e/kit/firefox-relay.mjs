#!/usr/bin/env node
// Firefox as Playwright expects it: the machine's own, which speaks WebDriver BiDi, behind a relay that answers the one
// command Playwright sends to every browser and Firefox 153 does not know. Without it Playwright drives no released Firefox;
// once they know the command, this file goes and `executablePath` in firefox.ts names Firefox itself.
//
// Playwright starts this in the place of the browser, so it takes Firefox's options and prints what Firefox prints. It is
// not TypeScript since Node.js 20 runs none.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { WebSocket, WebSocketServer } from "ws";

/** Emulates a colour scheme, which no test in Firefox asks for. */
const UNKNOWN = "emulation.setMediaFeaturesOverride";
/** What Firefox prints when it can be driven, and Playwright waits for. */
const READY = "WebDriver BiDi listening on ";

const firefox = spawn(process.env.FIREFOX || "/usr/bin/firefox-esr", process.argv.slice(2), {
  stdio: ["ignore", "inherit", "pipe"],
});
firefox.once("error", (error) => {
  console.error(`Firefox cannot be started: ${error.message}`);
  process.exit(1);
});
firefox.once("exit", (code) => process.exit(code ?? 1));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => firefox.kill(signal));

for await (const line of createInterface({ input: firefox.stderr })) {
  const [, address] = line.split(READY);
  console.error(address ? READY + (await relay(`${address}/session`)) : line);
}

/** Opens a WebSocket before the one of Firefox, and gives its address. */
async function relay(target) {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  server.on("connection", async (driver) => {
    const browser = new WebSocket(target);
    // What breaks on one side ends the other.
    for (const [one, other] of [[driver, browser], [browser, driver]]) {
      one.on("error", () => {});
      one.on("close", () => other.close());
    }
    const opened = once(browser, "open");
    driver.on("message", async (data) => {
      const { id, method } = JSON.parse(data);
      if (method === UNKNOWN) {
        driver.send(JSON.stringify({ type: "success", id, result: {} }));
        return;
      }
      await opened;
      browser.send(String(data));
    });
    browser.on("message", (data) => driver.send(String(data)));
  });
  await once(server, "listening");
  return `ws://127.0.0.1:${server.address().port}`;
}
