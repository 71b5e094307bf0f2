// Tests models that review calls: their reviews appear on the card of the call, live and after a reload, and the user decides.

import { rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ChatPage } from "../kit/chat.ts";
import { expect, test } from "../kit/test.ts";

const everything = join(import.meta.dirname, "../node_modules/@modelcontextprotocol/server-everything/dist/index.js");
const file = join(tmpdir(), `tallybook-reviews-${process.pid}.toml`);

// Writes the file at load time, because the server starts before any hook runs. Outside of workers, Playwright loads this
// file only to list the tests, which needs no server.
if (process.env.TEST_WORKER_INDEX !== undefined) {
  const args = JSON.stringify([everything, "stdio"]);
  const server = `[tool_servers.everything]\ncommand = ${JSON.stringify(process.execPath)}\nargs = ${args}\n`;
  writeFileSync(file, `[review]\nmodels = ["scripted"]\n${server}`);
}

test.use({ scripted: true, settings: { CONFIG_FILE: file, LLM_TITLES: "false" } });
test.afterAll(() => rmSync(file, { force: true }));

test("a review is shown on the card, and the user decides", async ({ page, model }) => {
  const status = async () => (await (await page.request.get("/api/tools")).json()).servers[0].status;
  await expect.poll(status, { timeout: 30_000 }).toBe("connected");
  const chat = new ChatPage(page);
  model.answer([{ tool: "everything__echo", input: '{"message":"こだま"}' }]);
  model.answer(['{"verdict": "reject", "reason": "The user did not ask for an echo."}']);
  await page.goto("/");
  await chat.send("Say it");
  const reviews = page.getByTestId("consent").getByTestId("reviews");
  await expect(reviews).toHaveText(/scripted\s*rejects\s*The user did not ask for an echo\./);
  await page.reload();
  await expect(reviews).toHaveText(/scripted\s*rejects\s*The user did not ask for an echo\./);
  model.answer(["It came back."]);
  await page.getByTestId("allow-once").click();
  await expect(chat.answers.last()).toContainText("It came back.");
  await expect(chat.answers.last()).toHaveAttribute("data-status", "complete");
});
