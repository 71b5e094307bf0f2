// Tests several models: the choice for a conversation, a message or a regenerated answer, and a model that was removed.

import { rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { NOTHING, findings } from "../kit/axe.ts";
import { ChatPage } from "../kit/chat.ts";
import { choose, expectChosen, options } from "../kit/listbox.ts";
import { gate } from "../kit/model.ts";
import { call, conversation, open } from "../kit/seed.ts";
import { expect, test } from "../kit/test.ts";

const file = join(tmpdir(), `tallybook-models-${process.pid}.toml`);

/** Two of the models are the built-in model under different names. The third one is never called. */
const ARITHMETIC = '[[models]]\nname = "Arithmetic"\nprovider = "demo"\n';
const SUMS = '[[models]]\nname = "Sums"\nprovider = "demo"\ninput_price = 3.0\noutput_price = 15.0\n';
const LOCAL = '[[models]]\nname = "Local"\nprovider = "ollama"\nmodel = "small"\ntool_mode = "prompt"\n';

// Writes the file at load time, because the server starts before any hook runs. Outside of workers, Playwright loads this
// file only to list the tests, which needs no server.
if (process.env.TEST_WORKER_INDEX !== undefined) writeFileSync(file, ARITHMETIC + SUMS + LOCAL);

test.use({ demoPaceMs: 0, settings: { CONFIG_FILE: file } });
test.afterAll(() => rmSync(file, { force: true }));

test("a conversation uses the selected model, and an answer or a message can use another", async ({ page, request }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  const picker = page.getByTestId("model");
  await expectChosen(picker, "Arithmetic");
  await picker.click();
  await expect(options(picker)).toHaveText([
    "Arithmetic demo",
    "Sums demo",
    "Local ollama · prompted tools",
    "Arithmetic",
    "Sums",
    "Local",
  ]);
  await page.keyboard.press("Escape");
  await choose(picker, "Sums");
  const answer = await chat.ask("2 + 3");
  await expect(answer).toContainText("= 5");
  const author = answer.getByTestId("author");
  await expect(author.locator(".listbox-value")).toHaveText("Sums");
  expect((await (await request.get(chat.api())).json()).model).toBe("Sums");
  await expect(answer.locator(".usage"), "its cost").toContainText("0.00");
  await page.reload();
  await expectChosen(picker, "Sums");

  await choose(author, "Arithmetic");
  await expect(author.locator(".listbox-value")).toHaveText("Arithmetic");
  await expect(answer).toContainText("2/2");
  await expect(answer).toHaveAttribute("data-status", "complete");
  const { model, messages } = await (await request.get(chat.api())).json();
  expect([model, messages[1].model], "the conversation keeps its own").toEqual(["Sums", "Arithmetic"]);

  await choose(picker, "next:Arithmetic");
  await expect(picker.locator(".listbox-value")).toHaveText("Arithmetic (next message only)");
  const next = await chat.ask("4 + 5");
  await expect(next.getByTestId("author").locator(".listbox-value")).toHaveText("Arithmetic");
  await expectChosen(picker, "Sums", "the one after it goes to the conversation's own");
  await chat.ask("6 + 7");
  await expect(page.getByTestId("usage-in-all"), "the cost of the conversation, for models with prices").toHaveText(/cost 0\.00\d+/);
  expect((await (await request.get(chat.api())).json()).model).toBe("Sums");
});

test("a new chat starts with the last selected model, or the one in the settings", async ({ page, context, request }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  const picker = page.getByTestId("model");
  await choose(picker, "Sums");
  await chat.ask("2 + 3");
  const first = page.url();
  await page.getByTestId("new-chat").first().click();
  await expect(page).toHaveURL("/");
  await expectChosen(picker, "Sums");
  await page.reload();
  await expectChosen(picker, "Sums", "the server renders it like this");
  await chat.ask("4 + 5");
  expect((await (await request.get(chat.api())).json()).model).toBe("Sums");

  await page.goto("/settings");
  await choose(page.getByTestId("setting-model"), "Arithmetic");
  await page.goto("/");
  await expectChosen(picker, "Arithmetic");
  await choose(picker, "Sums");
  await chat.ask("6 + 7");
  expect((await (await request.get(chat.api())).json()).model, "this chat has its selected model").toBe("Sums");
  await page.goto("/");
  await expectChosen(picker, "Arithmetic");
  await page.goto(first);
  await expectChosen(picker, "Sums", "a conversation keeps its own");

  await page.goto("/settings");
  await expectChosen(page.getByTestId("setting-model"), "Arithmetic");
  await choose(page.getByTestId("setting-model"), "");
  await page.goto("/");
  await expectChosen(picker, "Sums");
  await context.addCookies([{ name: "tallybook_last_model", value: "Gone", url: page.url() }]);
  await page.reload();
  await expectChosen(picker, "Arithmetic", "a removed model is not used");
  await expect(picker).not.toHaveAttribute("aria-invalid", "true");
});

test("keys move through an answer's models and call none until Enter chooses one", async ({ page, request }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  const answer = await chat.ask("2 + 3");
  const author = answer.getByTestId("author");
  const active = options(author).and(page.locator("[data-active]"));
  await author.focus();
  await page.keyboard.press("ArrowDown");
  await expect(author).toHaveAttribute("aria-expanded", "true");
  await expect(active).toHaveText(/^Sums/);
  await page.keyboard.press("ArrowDown");
  await expect(active).toHaveText(/^Local/);
  const id = await active.getAttribute("id");
  await expect(author, "screen readers hear the active option").toHaveAttribute("aria-activedescendant", id!);
  await page.keyboard.press("Home");
  await expect(active).toHaveText(/^Sums/);
  await page.keyboard.press("End");
  await expect(active).toHaveText(/^Local/);
  await page.keyboard.press("s");
  await expect(active, "a letter finds the next option").toHaveText(/^Sums/);
  await page.keyboard.press("Escape");
  await expect(author).toHaveAttribute("aria-expanded", "false");
  await expect(author, "the focus stays").toBeFocused();
  expect((await (await request.get(chat.api())).json()).messages[1].siblings ?? []).toHaveLength(0);
  await page.keyboard.press("Space");
  await expect(active).toHaveText(/^Sums/);
  await page.keyboard.press("Tab");
  await expect(author, "the list closes when the focus leaves").toHaveAttribute("aria-expanded", "false");
  await author.focus();
  await page.keyboard.press("Enter");
  await expect(active).toHaveText(/^Sums/);
  await page.keyboard.press("Enter");
  await expect(answer).toContainText("2/2");
  await expect(answer).toHaveAttribute("data-status", "complete");
});

for (const [language, width] of [
  ["en", 1280],
  ["ja", 360],
] as const) {
  test(`the model menus and a failed selection pass axe, ${language}, ${width} pixels wide`, async ({ page, context, tolerated }) => {
    tolerated.push(/Failed to load resource/);
    await page.setViewportSize({ width, height: 640 });
    await context.addCookies([{ name: "tallybook_language", value: language, url: "http://127.0.0.1" }]);
    await page.goto("/");
    const answer = await new ChatPage(page).ask("2 + 3");
    await expect(answer.getByTestId("author")).toBeVisible();
    await page.route("**/api/conversations/*", (route) => (route.request().method() === "PATCH" ? route.fulfill({ status: 503, body: "{}" }) : route.fallback()));
    await choose(page.getByTestId("model"), "Sums");
    await expect(page.getByTestId("model-notice")).toBeVisible();
    expect(await findings(page)).toEqual(NOTHING);
    await page.getByTestId("model").click();
    await expect(options(page.getByTestId("model")).first()).toBeVisible();
    expect(await findings(page), "also with an open list").toEqual(NOTHING);
  });
}

test("a failed model selection is reported despite other updates of the conversation", async ({ page, request, tolerated }) => {
  tolerated.push(/Failed to load resource/);
  const chat = new ChatPage(page);
  await page.goto("/");
  await chat.ask("2 + 3");
  const held = gate();
  await page.route("**/api/conversations/*", async (route) => {
    if (route.request().method() !== "PATCH") return route.fallback();
    await held.opened;
    return route.fulfill({ status: 503, body: "{}" });
  });
  const picker = page.getByTestId("model");
  await choose(picker, "Sums");
  // The event about the pinned conversation contains its model, too.
  await request.patch(chat.api(), { data: { pinned: true } });
  await expectChosen(picker, "Arithmetic");
  held.open();
  await expect(page.getByTestId("model-notice")).toBeVisible();
});

test("a stopped answer continues with the model that is selected then", async ({ page, tolerated }) => {
  tolerated.push(/status of 409/);
  const stopped = { content: "Half of it", status: "stopped", calls: [call("add", { a: 1, b: 2 })] };
  await open(page, conversation("Stopped", [["Go", stopped]]));
  let sent: string | null = null;
  await page.route("**/api/conversations/*/continue", (route) => {
    sent = route.request().postData();
    const problem = { type: "/problems/nothing-to-resume", title: "Nothing", status: 409, detail: "Nothing." };
    return route.fulfill({ status: 409, json: problem });
  });
  await choose(page.getByTestId("model"), "Sums");
  await page.getByTestId("continue").click();
  await expect.poll(() => sent && JSON.parse(sent)).toEqual({ model: "Sums" });
});

test("a removed model is reported, and another can be selected", async ({ page, server, tolerated }) => {
  tolerated.push(/net::ERR_|Failed to load resource/);
  const chat = new ChatPage(page);
  await page.goto("/");
  const picker = page.getByTestId("model");
  await choose(picker, "Sums");
  await chat.ask("2 + 3");
  await server.kill();
  writeFileSync(file, ARITHMETIC + SUMS.replace("Sums", "Totals"));
  await server.restart();
  await page.reload();
  await expect(picker).toHaveAttribute("aria-invalid", "true");
  await expect(picker.locator(".listbox-value")).toContainText("Sums");
  await chat.send("And 4 + 5?");
  await expect(page.getByTestId("notice")).toContainText("Sums");
  await expect(page.getByTestId("composer"), "the draft is kept").toHaveValue("And 4 + 5?");
  await choose(picker, "Totals");
  await expect(picker).not.toHaveAttribute("aria-invalid", "true");
  await page.getByTestId("send").click();
  await expect(chat.answers.nth(1)).toContainText("= 9");
  await expect(chat.answers.nth(1).getByTestId("author").locator(".listbox-value")).toHaveText("Totals");
});
