// Fixtures for a server that is already running, and that the tests do not stop. They know its address and its database.

import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import mysql, { type RowDataPacket } from "mysql2/promise";
import { alive } from "../kit/chat.ts";
import { expect, test as base } from "../kit/test.ts";

export { expect };

/** Returns an environment variable that the container of these tests has. Throws if it is not set. */
function given(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run these tests with \`cargo xtask compose\``);
  return value;
}

interface Installed {
  /** An admin with a new name, because the database may be left over from an earlier run. */
  admin: { name: string; password: string };
  /** Queries the database directly. */
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

  // Every page is signed in as the admin.
  page: async ({ page, admin }, use) => {
    await page.goto("/sign-in");
    await page.getByLabel("Name").fill(admin.name);
    await page.getByLabel("Password").fill(admin.password);
    await page.locator("[type=submit]").click();
    await alive(page);
    await use(page);
  },
});
