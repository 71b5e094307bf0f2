// The test function of the browser tests. Each worker has a server, and each page must keep its console clean.

import { type ConsoleMessage, test as base, expect } from "@playwright/test";
import { type ScriptedModel, startModel } from "./model.ts";
import { type Server, type ServerOptions, startServer } from "./server.ts";

export { expect };

export const test = base.extend<
  { tolerated: RegExp[]; cleanConsole: void },
  ServerOptions & { server: Server; model: ScriptedModel }
>({
  mysqlServer: [undefined, { option: true, scope: "worker" }],
  demoPaceMs: [undefined, { option: true, scope: "worker" }],
  settings: [{}, { option: true, scope: "worker" }],

  scripted: [false, { option: true, scope: "worker" }],

  model: [
    async ({}, use) => {
      const model = await startModel();
      await use(model);
      await model.stop();
    },
    { scope: "worker" },
  ],

  server: [
    async ({ mysqlServer, demoPaceMs, settings, scripted, model }, use) => {
      const server = await startServer({ mysqlServer, demoPaceMs, settings }, scripted ? model.url : undefined);
      await use(server);
      await server.stop();
    },
    { scope: "worker", timeout: 60_000 },
  ],

  baseURL: async ({ server }, use) => use(server.url),

  // Console messages that a test expects.
  tolerated: async ({}, use) => use([]),

  // Most tests would notice only in the console that the page's WASM module has stopped.
  cleanConsole: [
    async ({ context, tolerated }, use) => {
      const complaints: string[] = [];
      context.on("console", (message: ConsoleMessage) => {
        if (message.type() === "warning" || message.type() === "error") {
          complaints.push(`console.${message.type()}: ${message.text()} (${message.location().url})`);
        }
      });
      context.on("weberror", (error) => complaints.push(`uncaught: ${error.error().message}`));
      await use();
      const expected = [...tolerated, /Service Worker registration blocked by Playwright/];
      const unexpected = complaints.filter((complaint) => !expected.some((known) => known.test(complaint)));
      expect(unexpected, "the console stays clean").toEqual([]);
    },
    { auto: true },
  ],
});
