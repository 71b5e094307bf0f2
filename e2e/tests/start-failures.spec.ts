// Tests a page that cannot start, or whose WASM module stops: the page says so, and offers a reload.

import type { Page, Route } from "@playwright/test";
import { NOTHING, findings } from "../kit/axe.ts";
import { ChatPage, alive } from "../kit/chat.ts";
import { gate } from "../kit/model.ts";
import { expect, test } from "../kit/test.ts";

const PROGRAM = /tallybook_bg\.wasm/;

test.beforeEach(async ({ tolerated }) => {
  tolerated.push(/status of 503|Failed to load|preload|MIME|WebAssembly|RuntimeError|panicked|uncaught/i);
});

function notice(page: Page) {
  return page.getByRole("alert").filter({ has: page.getByRole("link", { name: "Reload the page" }) });
}

test("a WASM module that does not load is reported, and a reload recovers", async ({ page }) => {
  // In this page the module never loads, no matter how often the page requests it.
  let isReloaded = false;
  await page.route(PROGRAM, (route) => (isReloaded ? route.continue() : route.fulfill({ status: 503 })));
  await page.goto("/");
  await expect(notice(page)).toContainText("could not be loaded");
  expect(await findings(page)).toEqual(NOTHING);
  page.on("request", (request) => {
    isReloaded ||= request.isNavigationRequest();
  });
  await notice(page).getByRole("link").click();
  await alive(page);
  await expect(notice(page)).toBeHidden();
});

test("a WASM module that loads late starts the page by itself", async ({ page }) => {
  let asked = 0;
  await page.route(PROGRAM, (route) => (asked++ < 2 ? route.fulfill({ status: 503 }) : route.continue()));
  await page.goto("/");
  await expect(page.locator("body")).toHaveAttribute("data-alive", "", { timeout: 15_000 });
  await expect(notice(page)).toBeHidden();
  const chat = new ChatPage(page);
  await chat.ask("What is 1 + 2?");
  await expect(chat.answers).toHaveCount(1);
});

test("a message that was sent can be edited again if the page cannot be loaded", async ({ page }) => {
  const { opened, open: fail } = gate();
  await page.route(PROGRAM, async (route) => {
    await opened;
    await route.abort();
  });
  await page.goto("/", { waitUntil: "commit" });
  const composer = page.getByTestId("composer");
  await expect(composer).toBeFocused();
  await page.keyboard.type("What is 2 + 3");
  await page.keyboard.press("Enter");
  await expect(composer, "it is on its way").toHaveJSProperty("readOnly", true);
  fail();
  await expect(notice(page)).toContainText("could not be loaded");
  await expect(composer).toHaveJSProperty("readOnly", false);
  await page.keyboard.type("?");
  await expect(composer).toHaveValue("What is 2 + 3?");
  await page.unroute(PROGRAM);
  await alive(page);
  await page.keyboard.press("Enter");
  await expect(new ChatPage(page).answers.last()).toContainText("5");
});

for (const [how, fail] of Object.entries({
  "returns an error": (route: Route) => route.fulfill({ status: 503 }),
  "is unreachable": (route: Route) => route.abort(),
  // The response of a server without the file. With `nosniff`, the browser does not try to use it as a style.
  "is missing": (route: Route) =>
    route.fulfill({ status: 404, contentType: "text/plain", headers: { "x-content-type-options": "nosniff" }, body: "No." }),
})) {
  test(`a style sheet that ${how} is reported, and the page still works`, async ({ page, tolerated }) => {
    tolerated.push(/Failed to load resource|Refused to apply style|net::ERR_/);
    await page.route(/tallybook\.css/, fail);
    await page.goto("/");
    await expect(notice(page)).toContainText("could not be loaded");
    await alive(page);
  });
}

test("a WASM module that stops is reported", async ({ page }) => {
  await page.goto("/");
  await alive(page);
  await expect(notice(page)).toBeHidden();
  // A panic ends the module with such an error.
  await page.evaluate(() => setTimeout(() => { throw new WebAssembly.RuntimeError("unreachable"); }));
  await expect(notice(page)).toContainText("Something went wrong");
});

test("a WASM module that stops during a wait is reported", async ({ page }) => {
  await page.goto("/");
  await alive(page);
  await page.evaluate(() => void Promise.reject(new Error("From another script.")));
  await expect(notice(page)).toBeHidden();
  await page.evaluate(() => void Promise.reject(new WebAssembly.RuntimeError("unreachable")));
  await expect(notice(page)).toContainText("Something went wrong");
});

test("a panic of the WASM module is reported", async ({ page }) => {
  await page.goto("/");
  await new ChatPage(page).ask("What is 1 + 2?");
  await page.evaluate(() => {
    const { createElement } = document;
    const { cloneNode } = Node.prototype;
    document.createElement = Node.prototype.cloneNode = () => {
      document.createElement = createElement;
      Node.prototype.cloneNode = cloneNode;
      throw new Error("This browser makes no elements.");
    };
  });
  await page.getByTestId("new-chat").click();
  await expect(notice(page)).toContainText("Something went wrong");
});

test("the message about a stopped module is in the user's language", async ({ page, context, baseURL }) => {
  await context.addCookies([{ name: "tallybook_language", value: "ja", url: baseURL! }]);
  await page.route(PROGRAM, (route) => route.fulfill({ status: 503 }));
  await page.goto("/");
  await expect(page.getByRole("alert").filter({ hasText: "読み込めませんでした" })).toBeVisible();
  expect(await findings(page)).toEqual(NOTHING);
});
