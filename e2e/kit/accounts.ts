// Fixtures for a server with accounts: creates the admin, whose password the tests know.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test as base } from "./test.ts";

export { expect };

/** Password of every account in the tests. */
export const PASSWORD = "a password of some length";

/** Name of the admin of every such server. */
export const ADMIN = "root";

/** The test function for a server that has an admin. The settings of the test file must turn accounts on. */
export const test = base.extend<object, { admin: void }>({
  admin: [
    async ({ server }, use) => {
      const program = spawn(process.env.TALLYBOOK_BIN!, ["admin", "create", ADMIN, "--password-stdin"], {
        env: { PATH: process.env.PATH, DATABASE_URL: server.database },
        stdio: ["pipe", "ignore", "inherit"],
      });
      program.stdin.end(`${PASSWORD}\n`);
      const [code] = await once(program, "exit");
      expect(code).toBe(0);
      await use();
    },
    { scope: "worker", auto: true },
  ],
});
