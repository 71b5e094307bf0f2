// Tests the first hour of a new user: the program starts without any setting, the page connects a model and a tool server, and a
// restart keeps all of it.

import { ChatPage, alive } from "../kit/chat.ts";
import { choose, expectChosen } from "../kit/listbox.ts";
import { startModel } from "../kit/model.ts";
import { expect, test } from "../kit/test.ts";
import { startToolServer } from "../kit/tool-server.ts";

// As without any variable, except for the port: the embedded database, and the demo model.
test.use({ settings: { HOST: undefined, DATABASE_URL: undefined, TURN_LEASE_SECS: undefined, LLM_PROVIDER: undefined } });

const KEY = "sk-new-user-5up3r";
const TOKEN = "token-new-user-5up3r";

test("a model, a tool server and a conversation that the page created survive a restart", async ({ page, server, tolerated }) => {
  tolerated.push(/net::ERR_|Failed to load resource/);
  const model = await startModel({ key: KEY, offers: [{ id: "maker/large", display_name: "Large" }] });
  const tools = await startToolServer(TOKEN);
  const bodies: Promise<string>[] = [];
  page.on("response", (response) => {
    // The feed does not end. A redirect, and a response that the restart cuts off, have no body.
    if (!response.url().endsWith("/api/events")) bodies.push(response.text().catch(() => ""));
  });
  const expectNoSecret = async () => {
    const stored = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state, location.href]));
    expect(stored).not.toContain("5up3r");
    expect(await page.content()).not.toContain("5up3r");
  };
  const chat = new ChatPage(page);
  await page.goto("/");
  await alive(page);

  await test.step("the demo model answers", async () => {
    await expect(page.getByTestId("demo-notice")).toBeVisible();
    await expect(await chat.ask("2 + 3")).toContainText("5");
  });

  await test.step("a model is connected", async () => {
    await page.goto("/");
    const began = Date.now();
    await page.getByTestId("connect-model").click();
    await page.getByTestId("provider-compatible").check();
    await page.getByTestId("setup-address").fill(model.url);
    await page.getByTestId("setup-secret").fill(KEY);
    await page.getByTestId("find-models").click();
    await page.getByTestId("setup-dialog").getByRole("option", { name: "Large" }).click();
    model.answer(["I am ready."]);
    model.answer([{ tool: "add", input: '{"a":"2","b":"3"}' }]);
    model.answer(["Red."]);
    await page.getByTestId("test-setup").click();
    await expect(page.getByTestId("test-result")).toContainText("Tools: Native · Reads images: Yes");
    await page.getByTestId("setup-further").locator("summary").click();
    await expectChosen(page.getByTestId("model-tool-mode"), "native");
    await expectChosen(page.getByTestId("model-vision"), "yes");
    await expectNoSecret();
    await page.getByTestId("save-setup").click();
    await expectChosen(page.getByTestId("model"), "Large");
    model.answer(["Greetings from Large."]);
    model.answer(["Salutations"]);
    await expect(await chat.ask("Who are you?")).toContainText("Greetings from Large.");
    expect(Date.now() - began, "from the click to the answer").toBeLessThan(60_000);
    await expectNoSecret();
    await expect(page, "the model wrote the title, too").toHaveTitle(/^Salutations/);
  });

  await test.step("a tool server is added, and its tool runs after approval", async () => {
    await page.keyboard.press("Control+k");
    await page.getByTestId("palette-field").fill("add a tool server");
    await page.keyboard.press("Enter");
    await page.getByTestId("setup-name").fill("docs");
    await page.getByTestId("setup-address").fill(tools.url);
    await choose(page.getByTestId("server-authentication"), "token");
    await page.getByTestId("setup-secret").fill(TOKEN);
    const before = Number(await page.getByTestId("tools-count").textContent());
    await page.getByTestId("save-setup").click();
    await expect(page.getByTestId("tools-count")).toHaveText(String(before + 2));
    model.answer([{ tool: "docs__send_mail", input: '{"words":"hello"}' }]);
    model.answer(["It is sent."]);
    const answer = await chat.send("Send it");
    await page.getByTestId("allow-once").click();
    await expect(answer).toHaveAttribute("data-status", "complete");
    expect(tools.calls()).toEqual([{ name: "send_mail", words: "hello" }]);
    await expectNoSecret();
  });

  await test.step("all of it is there after a restart", async () => {
    await server.kill();
    await server.restart();
    await page.reload();
    await expect(chat.messages).toHaveCount(4);
    await expect(chat.answers.last()).toContainText("It is sent.");
    await expectChosen(page.getByTestId("model"), "Large");
    await page.goto("/settings");
    await expect(page.getByTestId("section-models").getByTestId("entry").filter({ hasText: "Large" })).toContainText("added here");
    await expect(page.getByTestId("section-tool-servers").getByTestId("entry-status")).toHaveText("connected · 2 tools");
    await expectNoSecret();
    await page.goBack();
    model.answer([{ tool: "docs__look_up", input: '{"words":"tally"}' }]);
    model.answer(["I looked it up."]);
    const answer = await chat.send("Look it up");
    await page.getByTestId("allow-once").click();
    await expect(answer).toContainText("I looked it up.");
  });

  await test.step("the secrets are in no file and no output in clear", async () => {
    const files = await server.files();
    expect([...files.keys()].filter((name) => /\.db$|\.key$/.test(name)), "the database, and the key of the secrets").toHaveLength(2);
    for (const [name, content] of files) expect(content.includes("5up3r"), name).toBe(false);
    expect(server.output()).toContain("Tallybook is ready");
    expect(server.output()).not.toContain("5up3r");
  });

  const sent = (await Promise.all(bodies)).join("\n");
  expect(sent).toContain("docs");
  expect(sent).not.toMatch(/5up3r/);
  await model.stop();
  await tools.stop();
});
