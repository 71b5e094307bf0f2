// The test function of these tests: each worker has a server, each page must keep its console clean.

import { type ConsoleMessage, test as base, expect } from "@playwright/test";
import { type ScriptedModel, startModel } from "./model.ts";
import { type Server, type ServerOptions, startServer } from "./server.ts";

export { expect };

/** What a test has to say about the console. */
export interface CleanConsole {
  /** Complaints of this kind are what the test is about. */
  expect(kind: RegExp): void;
}

export const test = base.extend<{ cleanConsole: CleanConsole }, ServerOptions & { server: Server; model: ScriptedModel }>({
  mysqlServer: [undefined, { option: true, scope: "worker" }],
  demoPaceMs: [undefined, { option: true, scope: "worker" }],

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
    async ({ mysqlServer, demoPaceMs, scripted, model }, use) => {
      const server = await startServer({ mysqlServer, demoPaceMs }, scripted ? model.url : undefined);
      await use(server);
      await server.stop();
    },
    { scope: "worker", timeout: 60_000 },
  ],

  baseURL: async ({ server }, use) => use(server.url),

  // A hydration that does not fit the server's page says so in the console and nowhere else.
  cleanConsole: [
    async ({ context }, use) => {
      const complaints: string[] = [];
      context.on("console", (message: ConsoleMessage) => {
        if (message.type() === "warning" || message.type() === "error") {
          complaints.push(`console.${message.type()}: ${message.text()} (${message.location().url})`);
        }
      });
      context.on("weberror", (error) => complaints.push(`uncaught: ${error.error().message}`));
      const expected: RegExp[] = [];
      await use({ expect: (kind) => expected.push(kind) });
      const unexpected = complaints.filter((complaint) => !expected.some((kind) => kind.test(complaint)));
      expect(unexpected, "the console stays clean").toEqual([]);
    },
    { auto: true },
  ],
});
