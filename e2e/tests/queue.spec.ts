// Tests that messages sent during a turn wait in a queue until the answer ends.

import { ChatPage } from "../kit/chat.ts";
import { gate } from "../kit/model.ts";
import { expect, test } from "../kit/test.ts";

test.use({ scripted: true, settings: { LLM_TITLES: "false" } });

async function* held(words: string, until: Promise<void>) {
  yield words;
  await until;
}

test("queued messages keep their order, can be edited and removed, and are sent one after the other", async ({ page, model }) => {
  const chat = new ChatPage(page);
  const field = page.getByTestId("composer");
  const queued = page.getByTestId("queued");
  const first = gate();
  model.answer(held("First answer.", first.opened));
  model.answer(["Second answer."]);
  model.answer(["Third answer."]);
  await page.goto("/");
  await chat.send("One");
  await expect(chat.answers).toContainText("First answer.");

  for (const words of ["Tow", "Not this", "Three"]) {
    await field.fill(words);
    await expect(page.getByTestId("send")).toHaveAccessibleName("Send when the answer ends");
    await field.press("Enter");
    await expect(field).toHaveValue("");
  }
  await expect(queued).toHaveText(["Tow", "Not this", "Three"]);
  await expect(page.getByTestId("stop"), "Stop stays available").toBeVisible();
  await queued.nth(1).getByTestId("queue-remove").click();
  await queued.nth(0).getByTestId("queue-edit").click();
  const change = page.getByTestId("queue-field");
  await expect(change).toBeFocused();
  await change.fill("Two");
  await change.press("Enter");
  await expect(queued).toHaveText(["Two", "Three"]);

  await page.reload();
  await expect(queued, "a reload loses nothing").toHaveText(["Two", "Three"]);
  first.open();
  await expect(chat.answers.nth(2)).toContainText("Third answer.");
  await expect(page.getByTestId("queue")).toHaveCount(0);
  const asked = page.locator('article[data-role="user"] .bubble');
  await expect(asked).toHaveText(["One", "Two", "Three"]);
  await page.reload();
  await expect(asked, "each is stored once").toHaveText(["One", "Two", "Three"]);
});

test("sending the previous message does not interrupt the editing of a queued one", async ({ page, model }) => {
  const chat = new ChatPage(page);
  const field = page.getByTestId("composer");
  const [first, second] = [gate(), gate()];
  model.answer(held("First answer.", first.opened));
  model.answer(held("Second answer.", second.opened));
  model.answer(["Third answer."]);
  await page.goto("/");
  await chat.send("One");
  await expect(chat.answers).toContainText("First answer.");
  for (const words of ["Two", "Three"]) {
    await field.fill(words);
    await field.press("Enter");
  }
  await page.getByTestId("queued").nth(1).getByTestId("queue-edit").click();
  const change = page.getByTestId("queue-field");
  await expect(change).toBeFocused();
  await change.fill("Three and a ha");
  first.open();
  await expect(chat.answers.nth(1)).toContainText("Second answer.");
  await expect(page.getByTestId("queued")).toHaveCount(1);
  await page.keyboard.type("lf");
  await expect(change).toHaveValue("Three and a half");
  second.open();
  await expect(chat.answers.nth(1)).toHaveAttribute("data-status", "complete");
  await change.press("Enter");
  await expect(chat.answers.nth(2)).toContainText("Third answer.");
  await expect(page.locator('article[data-role="user"] .bubble')).toHaveText(["One", "Two", "Three and a half"]);
});

test("after Stop, queued messages wait until the user sends them", async ({ page, model }) => {
  const chat = new ChatPage(page);
  model.answer(held("First answer.", new Promise(() => {})));
  model.answer(["Second answer."]);
  model.answer(["Third answer."]);
  await page.goto("/");
  await chat.send("One");
  await expect(chat.answers).toContainText("First answer.");
  await page.getByTestId("composer").fill("Two");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
  await expect(chat.answers).toHaveAttribute("data-status", "stopped");
  await expect(page.getByTestId("queue")).toContainText("Paused: the last answer was stopped.");
  await chat.ask("A new one");
  await expect(chat.answers.nth(1)).toContainText("Second answer.");
  await expect(page.getByTestId("queue"), "a new message is sent alone").toContainText("Paused until you send them.");
  await expect(page.getByTestId("queued")).toHaveText(["Two"]);
  await page.getByTestId("send-now").click();
  await expect(chat.answers.nth(2)).toContainText("Third answer.");
  await expect(page.getByTestId("queue")).toHaveCount(0);
});

test("queued messages stay with their conversation", async ({ page, model, request }) => {
  const chat = new ChatPage(page);
  const first = gate();
  model.answer(held("First answer.", first.opened));
  model.answer(["Second answer."]);
  await page.goto("/");
  await chat.send("One");
  await expect(chat.answers).toContainText("First answer.");
  await page.getByTestId("composer").fill("Two");
  await page.keyboard.press("Enter");
  await expect(page.getByTestId("queued")).toHaveText(["Two"]);
  const address = page.url();
  await page.getByTestId("new-chat").click();
  await expect(page.getByTestId("queue")).toHaveCount(0);
  first.open();
  const stored = async () => (await (await request.get(`/api/conversations/${address.split("/").pop()}`)).json()).messages;
  await expect.poll(async () => (await stored()).at(-1).content, "it is sent although another chat is open").toBe("Second answer.");
  await page.goto(address);
  await expect(chat.answers.nth(1)).toContainText("Second answer.");
  await expect(page.getByTestId("queue")).toHaveCount(0);
  expect((await stored()).length, "each message is stored once").toBe(4);
});

test("queued messages are not sent by themselves after the page was closed", async ({ page, model, request }) => {
  const chat = new ChatPage(page);
  const first = gate();
  model.answer(held("First answer.", first.opened));
  model.answer(["Second answer."]);
  await page.goto("/");
  await chat.send("One");
  await expect(chat.answers).toContainText("First answer.");
  await page.getByTestId("composer").fill("Two");
  await page.keyboard.press("Enter");
  await expect(page.getByTestId("queued")).toHaveText(["Two"]);
  const address = page.url();
  await page.goto("about:blank");
  first.open();
  await expect.poll(async () => (await (await request.get(`/api/conversations/${address.split("/").pop()}`)).json()).running).toBe(false);
  await page.goto(address);
  await expect(chat.answers).toHaveAttribute("data-status", "complete");
  await expect(page.getByTestId("queue")).toContainText("Not sent yet.");
  await page.getByTestId("send-now").click();
  await expect(chat.answers.nth(1)).toContainText("Second answer.");
});

test("an edited question is sent once the answer is complete, and the page says so until then", async ({ page, context, model }) => {
  const chat = new ChatPage(page);
  const second = gate();
  model.answer(["First answer."]);
  model.answer(held("Second answer.", second.opened));
  await page.goto("/");
  await chat.ask("One");
  const question = page.locator('article[data-role="user"]').first();
  await question.getByTestId("edit").click();
  const field = page.getByTestId("edit-field");
  await field.fill("Another");
  const other = new ChatPage(await context.newPage());
  await other.page.goto(page.url());
  await other.send("Two");
  await expect(chat.answers.last()).toHaveAttribute("data-status", "streaming");
  await expect(page.getByTestId("edit-send")).toBeDisabled();
  await expect(page.locator(".edit [role=status]")).toHaveText("Wait until the answer is complete, or stop it.");
  second.open();
  await expect(chat.answers.last()).toHaveAttribute("data-status", "complete");
  await expect(field).toHaveValue("Another");
  model.answer(["Another answer."]);
  await field.press("Enter");
  await expect(question.getByTestId("version")).toHaveText("2/2");
  await expect(chat.answers).toContainText("Another answer.");
});
