#!/usr/bin/env node
// Runs the machine's own Firefox, which supports WebDriver BiDi, behind a relay for Playwright. The relay answers one command that
// Playwright sends to every browser and that Firefox 153 does not support. Without the relay, Playwright cannot control any
// released Firefox. Once Firefox supports the command, delete this file, and set `executablePath` in firefox.ts to Firefox itself.
//
// Playwright starts this file instead of the browser. So it accepts Firefox's options and prints Firefox's output. It is not
// TypeScript, because Node.js 20 cannot run TypeScript.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { WebSocket, WebSocketServer } from "ws";

/** Command that emulates a color scheme, which no test in Firefox needs. */
const UNKNOWN = "emulation.setMediaFeaturesOverride";
/** Text that Firefox prints when it accepts commands, and that Playwright waits for. */
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

/** Opens a WebSocket in front of Firefox's, and returns its address. */
async function relay(target) {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  server.on("connection", async (driver) => {
    const browser = new WebSocket(target);
    // An error on one side closes the other side.
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
