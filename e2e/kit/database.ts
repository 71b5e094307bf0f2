// A database of its own for each server under test.

import { randomUUID } from "node:crypto";
import { join } from "node:path";
import mysql from "mysql2/promise";

/** A fresh database: where it is, and how to be rid of it. */
export interface Database {
  url: string;
  drop(): Promise<void>;
}

/** The MySQL and MariaDB servers to test on, as `MYSQL_TEST_URL` names them, separated by commas. */
export function mysqlServers(): string[] {
  const servers = (process.env.MYSQL_TEST_URL ?? "").split(",").map((url) => url.trim());
  return servers.filter((url) => url !== "");
}

/** Makes a database on a MySQL server, or a SQLite file in `folder` when there is no server. */
export async function createDatabase(server: string | undefined, folder: string): Promise<Database> {
  if (server === undefined) {
    // The file goes with the folder.
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
