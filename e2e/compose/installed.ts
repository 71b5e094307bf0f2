// A server that somebody else has started and will end: these tests know its address and its database.

import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import mysql, { type RowDataPacket } from "mysql2/promise";
import { alive } from "../kit/chat.ts";
import { expect, test as base } from "../kit/test.ts";

export { expect };

/** A variable that docker-compose.yml sets. */
function given(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run these tests with \`cargo xtask compose\``);
  return value;
}

interface Installed {
  /** An admin of a name of its own, since the database may be of a run before. */
  admin: { name: string; password: string };
  /** Asks the database itself. */
  rows(sql: string, values: string[]): Promise<RowDataPacket[]>;
}

export const test = base.extend<object, Installed>({
  baseURL: async ({}, use) => use(given("TALLYBOOK_URL")),

  admin: [
    async ({}, use) => {
      const admin = { name: `e2e-${randomUUID().slice(0, 8)}`, password: randomUUID() };
      const program = spawn(given("TALLYBOOK_BIN"), ["admin", "create", admin.name, "--password-stdin"], {
        env: { PATH: process.env.PATH, DATABASE_URL: given("DATABASE_URL") },
        stdio: ["pipe", "ignore", "inherit"],
      });
      program.stdin.end(`${admin.password}\n`);
      const [code] = await once(program, "exit");
      expect(code).toBe(0);
      await use(admin);
    },
    { scope: "worker" },
  ],

  rows: [
    async ({}, use) => {
      const connection = await mysql.createConnection({ uri: given("DATABASE_URL"), connectTimeout: 10_000 });
      await use(async (sql, values) => (await connection.execute<RowDataPacket[]>(sql, values))[0]);
      await connection.end();
    },
    { scope: "worker" },
  ],

  // Everybody here is signed in.
  page: async ({ page, admin }, use) => {
    await page.goto("/sign-in");
    await page.getByLabel("Name").fill(admin.name);
    await page.getByLabel("Password").fill(admin.password);
    await page.getByRole("button").click();
    await alive(page);
    await use(page);
  },
});
