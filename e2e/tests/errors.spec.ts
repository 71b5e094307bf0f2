// Tests that errors are reported, and that the conversation continues after them.

import type { APIRequestContext, Route } from "@playwright/test";
import { ChatPage, alive, toolCalls } from "../kit/chat.ts";
import { expect, test } from "../kit/test.ts";

/** Returns the number of listed conversations. */
async function conversations(request: APIRequestContext): Promise<number> {
  return (await (await request.get("/api/conversations")).json()).items.length;
}

test("a division by zero is a failed call with its reason, and the next message works", async ({ page }) => {
  const chat = new ChatPage(page);
  await page.goto("/");

  const answer = await chat.ask("What is 7 ÷ 0?");
  const call = toolCalls(answer).last();
  await expect(call).toHaveAttribute("data-status", "error");
  await expect(answer).toContainText(/zero/i);

  await call.click();
  const details = answer.getByTestId("tool-call-details");
  await expect(details).toContainText(/error/i);
  await expect(details).toContainText(/zero/i);

  const next = await chat.ask("What is 2 + 3?");
  await expect(next).toContainText("5");
  await expect(toolCalls(next).last()).toHaveAttribute("data-status", "success");

  await page.reload();
  await expect(toolCalls(chat.answers.first()).last()).toHaveAttribute("data-status", "error");
});

test("an unknown address shows an error with a link back", async ({ request }) => {
  const response = await request.get("/c/00000000-0000-4000-8000-000000000000");
  expect(response.status()).toBe(404);
  expect(response.headers()["content-type"]).toContain("text/html");
  expect(await response.text()).toContain('href="/"');
});

test("a conversation that failed to load is loaded with one click", async ({ page, tolerated }) => {
  tolerated.push(/Failed to load resource/);
  const chat = new ChatPage(page);
  await page.goto("/");
  await chat.ask("What is 2 + 3?");
  const path = new URL(page.url()).pathname;
  await page.getByTestId("new-chat").click();
  await expect(page.getByTestId("example").first()).toBeVisible();
  const address = `**${path.replace("/c/", "/api/conversations/")}?*`;
  await page.route(address, (route) => route.fulfill({ status: 503, body: "{}" }));
  await page.locator(`[href="${path}"]`).click();
  await expect(page.getByRole("alert")).toContainText("This page could not be loaded");
  // This click must cause the request, before the page retries by itself.
  const asked = page.waitForRequest(address);
  await page.getByRole("link", { name: "Try again" }).click();
  await asked;
  await page.unroute(address);
  await expect(chat.answers).toContainText("5");
  await expect(page).toHaveURL(path);
});

test("a conversation that failed to load is loaded when the network is back", async ({ page, tolerated }) => {
  tolerated.push(/Failed to load resource/);
  const chat = new ChatPage(page);
  await page.goto("/");
  await chat.ask("What is 2 + 3?");
  const path = new URL(page.url()).pathname;
  await page.getByTestId("new-chat").click();
  const address = `**${path.replace("/c/", "/api/conversations/")}?*`;
  await page.route(address, (route) => route.abort());
  await page.locator(`[href="${path}"]`).click();
  await expect(page.getByRole("alert")).toContainText("This page could not be loaded");
  await page.unroute(address);
  await page.evaluate(() => window.dispatchEvent(new Event("online")));
  await expect(chat.answers).toContainText("5");
});

test("a message that failed to be sent stays and can be sent again", async ({ page, tolerated }) => {
  tolerated.push(/Failed to load resource/);
  const chat = new ChatPage(page);
  await page.goto("/");
  await chat.ask("What is 2 + 3?");
  await page.route("**/messages", (route) => route.abort(), { times: 1 });
  await page.getByTestId("composer").fill("What is 6 × 7?");
  await page.getByTestId("send").click();
  await expect(page.getByTestId("notice")).toHaveText("The server cannot be reached. Check your connection, then try again.");
  await expect(page.getByTestId("composer")).toHaveValue("What is 6 × 7?");
  await expect(chat.messages).toHaveCount(2);
  await page.getByTestId("send").click();
  await expect(chat.answers.last()).toContainText("42");
  await expect(page.getByTestId("notice")).toHaveCount(0);
  await expect(chat.messages).toHaveCount(4);
});

test("a refused first message creates no conversation", async ({ page, request, tolerated }) => {
  tolerated.push(/Failed to load resource/);
  await page.goto("/");
  await alive(page);
  const before = await conversations(request);
  const long = "x".repeat(100_001);
  await page.getByTestId("composer").fill(long);
  await page.getByTestId("send").click();
  await expect(page.getByTestId("notice")).toBeVisible();
  await expect(page.getByTestId("composer")).toHaveValue(long);
  await expect(page).toHaveURL("/");
  await expect.poll(() => conversations(request)).toBe(before);
  await page.getByTestId("composer").fill("What is 2 + 3?");
  await page.getByTestId("send").click();
  await expect(new ChatPage(page).answers.last()).toContainText("5");
  expect(await conversations(request)).toBe(before + 1);
});

test("the conversation of a refused first message is deleted, even if that fails at first", async ({ page, request, tolerated }) => {
  tolerated.push(/Failed to load resource/);
  await page.goto("/");
  await alive(page);
  const before = await conversations(request);
  const deletions: string[] = [];
  await page.route("**/api/conversations/*", async (route) => {
    if (route.request().method() !== "DELETE") return route.continue();
    deletions.push(route.request().url());
    await (deletions.length === 1 ? route.abort() : route.continue());
  });
  await page.getByTestId("composer").fill("x".repeat(100_001));
  await page.getByTestId("send").click();
  await expect(page.getByTestId("notice")).toBeVisible();
  await expect.poll(() => deletions.length).toBe(2);
  await expect.poll(() => conversations(request)).toBe(before);
});

test("the conversation of a first message stays if a proxy's error hides that the server stored it", async ({ page, tolerated }) => {
  tolerated.push(/Failed to load resource/);
  await page.goto("/");
  await alive(page);
  const hide = async (route: Route) => {
    await route.fetch();
    await route.fulfill({ status: 502, contentType: "text/html", body: "<h1>Bad Gateway</h1>" });
  };
  await page.route("**/messages", hide, { times: 1 });
  const chat = new ChatPage(page);
  await expect(await chat.ask("What is 2 + 3?")).toContainText("5");
  await expect(chat.messages).toHaveCount(2);
  await page.reload();
  await expect(chat.messages).toHaveCount(2);
});
