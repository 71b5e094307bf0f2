// Tests continuing in a new chat: from an answer, and from a shared conversation.

import { NOTHING, findings } from "../kit/axe.ts";
import { ChatPage, act, alive, openGroups, openMenu, toolCalls } from "../kit/chat.ts";
import { gate } from "../kit/model.ts";
import { expect, test } from "../kit/test.ts";

test.use({ scripted: true, settings: { LLM_TITLES: "false" } });

test("an answer continues in a new chat, which has its calls and leaves the original as it is", async ({ page, model }) => {
  model.answer([{ tool: "add", input: '{"a":1,"b":20.5}' }]);
  model.answer(["It is 21.5."]);
  model.answer(["Nothing else."]);
  model.answer(["It is 22.5."]);
  const chat = new ChatPage(page);
  await page.goto("/");
  const answer = await chat.ask("What is 1 + 20.5?");
  await chat.ask("Anything else?");
  const original = page.url();

  await (await openMenu(answer)).getByRole("menuitem", { name: "Continue in a new chat" }).click();
  await expect(page).not.toHaveURL(original);
  await expect(chat.messages).toHaveCount(2);
  await expect(page.getByTestId("composer")).toBeFocused();
  await expect(page.getByTestId("conversation-menu")).toContainText("What is 1 + 20.5?");
  await expect(page.getByTestId("conversation-link").filter({ hasText: "What is 1 + 20.5?" })).toHaveCount(2);
  const copied = chat.answers.first();
  await openGroups(copied);
  await toolCalls(copied).first().click();
  await expect(copied.getByTestId("tool-call-details")).toContainText("20.5");
  expect(await findings(page)).toEqual(NOTHING);

  await page.keyboard.press("Escape");
  await chat.ask("And one more?");
  await expect(chat.messages).toHaveCount(4);
  await page.reload();
  await alive(page);
  await expect(chat.answers.last()).toContainText("It is 22.5.");

  await page.goto(original);
  await expect(chat.messages).toHaveCount(4);
  await expect(chat.answers.last()).toContainText("Nothing else.");
});

test("the user stays where they are if the new chat is late, and a failure is a notice", async ({ page, tolerated }) => {
  tolerated.push(/422/);
  const chat = new ChatPage(page);
  await page.goto("/");
  const answer = await chat.ask("What is 1 + 2?");
  const original = page.url();
  const problem = { type: "/problems/too-large-to-copy", title: "Too large to copy", status: 422, detail: "There are too many messages here." };
  await page.route("**/fork", (route) => route.fulfill({ status: 422, contentType: "application/problem+json", json: { ...problem, request_id: "x" } }));
  await act(answer, "fork");
  await expect(page.getByTestId("notice")).toHaveText("There are too many messages here.");
  expect(page.url()).toBe(original);
  await page.unroute("**/fork");

  const held = gate();
  await page.route("**/fork", async (route) => {
    await held.opened;
    await route.continue();
  });
  await act(answer, "fork");
  await page.getByTestId("new-chat").click();
  await expect(chat.messages).toHaveCount(0);
  const forked = page.waitForResponse("**/fork");
  held.open();
  expect((await forked).status()).toBe(201);
  await expect(page.getByTestId("conversation-link").filter({ hasText: "What is 1 + 2?" })).toHaveCount(2);
  await expect(chat.messages).toHaveCount(0);
});

test("a copy whose response was lost is not made twice", async ({ page, tolerated }) => {
  tolerated.push(/ERR_FAILED/);
  const chat = new ChatPage(page);
  await page.goto("/");
  const answer = await chat.ask("What is 7 + 8?");
  const original = page.url();
  await page.route("**/fork", async (route) => {
    await route.fetch();
    await route.abort();
  }, { times: 1 });
  await act(answer, "fork");
  await expect(page.getByTestId("notice")).toBeVisible();
  expect(page.url()).toBe(original);
  await act(answer, "fork");
  await expect(page).not.toHaveURL(original);
  await expect(page.getByTestId("conversation-link").filter({ hasText: "What is 7 + 8?" })).toHaveCount(2);
  const { items } = await (await page.request.get("/api/conversations")).json();
  expect(items.filter((item: { title: string }) => item.title === "What is 7 + 8?")).toHaveLength(2);
});

test("a shared conversation continues in the user's own chat, without scripts", async ({ page, browser, baseURL, model }) => {
  model.answer(["It is 3."]);
  const chat = new ChatPage(page);
  await page.goto("/");
  await chat.ask("What is 1 + 2?");
  const shared = await page.request.post(`${chat.api()}/shares`, { data: {} });
  const { path } = await shared.json();

  const context = await browser.newContext({ baseURL: baseURL!, javaScriptEnabled: false });
  const reader = await context.newPage();
  await reader.goto(path);
  await reader.getByRole("button", { name: "Continue in your own chat" }).click();
  await expect(reader).toHaveURL(/\/c\/[0-9a-f-]{36}$/);
  expect(reader.url()).not.toBe(page.url());
  await expect(reader.getByText("It is 3.")).toBeVisible();
  await context.close();
});
