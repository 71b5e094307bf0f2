// Creates a separate database for each server under test.

import { randomUUID } from "node:crypto";
import { join } from "node:path";
import mysql from "mysql2/promise";

/** A new database: its URL, and a function that removes it. */
export interface Database {
  url: string;
  drop(): Promise<void>;
}

/** Returns the URLs of the MySQL and MariaDB servers to test on: the comma-separated list in `MYSQL_TEST_URL`. */
export function mysqlServers(): string[] {
  const servers = (process.env.MYSQL_TEST_URL ?? "").split(",").map((url) => url.trim());
  return servers.filter((url) => url !== "");
}

/** Creates a database on a MySQL server, or a SQLite file in `folder` if `server` is undefined. */
export async function createDatabase(server: string | undefined, folder: string): Promise<Database> {
  if (server === undefined) {
    // The file is deleted with the folder.
    return { url: `sqlite://${join(folder, "tallybook.db")}`, drop: async () => {} };
  }
  const name = `tallybook_e2e_${randomUUID().replaceAll("-", "")}`;
  await execute(server, `CREATE DATABASE ${name} CHARACTER SET utf8mb4`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => execute(server, `DROP DATABASE ${name}`) };
}

async function execute(server: string, sql: string): Promise<void> {
  const connection = await mysql.createConnection({ uri: server, connectTimeout: 10_000 });
  try {
    await connection.query(sql);
  } finally {
    await connection.end();
  }
}
