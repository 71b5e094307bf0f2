// A server with accounts, as a person meets it who has the admin's password.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test as base } from "./test.ts";

export { expect };

/** The password of everybody here. */
export const PASSWORD = "a password of some length";

/** The admin of every such server. */
export const ADMIN = "root";

/** A server that has an admin. That it demands accounts, its settings say. */
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
