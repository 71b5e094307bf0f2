// Tests how an admin connects a model in the page: without a restart, with errors at their fields, and later changes.

import type { APIRequestContext, Locator, Page } from "@playwright/test";
import { NOTHING, findings } from "../kit/axe.ts";
import { ChatPage, alive } from "../kit/chat.ts";
import { choose, expectChosen } from "../kit/listbox.ts";
import { type ScriptedModel, startModel } from "../kit/model.ts";
import { expectNarrow } from "../kit/narrow.ts";
import { expect, test } from "../kit/test.ts";

test.use({ demoPaceMs: 0 });

const KEY = "sk-connect-5up3r";

/** The models that the provider lists, as OpenRouter describes them. */
const LARGE = {
  id: "maker/large",
  display_name: "Large",
  context_length: 128_000,
  architecture: { input_modalities: ["text", "image"] },
  pricing: { prompt: "0.0000025", completion: "0.00001" },
};
const OTHERS = Array.from({ length: 300 }, (_, at) => ({ id: `maker/small-${at}` }));

/** The call of a tool that a test asks for. */
const CALL = { tool: "add", input: '{"a":"2","b":"3"}' };

let provider: ScriptedModel;

test.beforeAll(async () => {
  provider = await startModel({ key: KEY, offers: [...OTHERS, LARGE] });
});
test.afterAll(() => provider.stop());
test.afterEach(async ({ request }) => {
  const { items } = await (await request.get("/api/admin/models")).json();
  for (const { name, origin } of items) if (origin === "page") await request.delete(`/api/admin/models/${name}`);
});

/** Adds a model through the API. */
async function add(request: APIRequestContext, name: string): Promise<void> {
  const model = { name, provider: "openai", base_url: provider.url, model: "maker/large", api_key: KEY };
  expect((await request.post("/api/admin/models", { data: model })).status()).toBe(201);
}

/** Opens the dialog on the start page, and fills in the connection to the provider. */
async function begin(page: Page, key = KEY): Promise<Locator> {
  await page.goto("/");
  await alive(page);
  await page.getByTestId("connect-model").click();
  const dialog = page.getByTestId("setup-dialog");
  await expect(page.getByTestId("provider-anthropic")).toBeFocused();
  await page.getByTestId("provider-compatible").check();
  await page.getByTestId("setup-address").fill(provider.url);
  await page.getByTestId("setup-secret").fill(key);
  return dialog;
}

test("a model is connected with a key, and answers without a restart", async ({ page }) => {
  const dialog = await begin(page);
  const key = page.getByTestId("setup-secret");
  await expect(key).toHaveAttribute("type", "password");
  await page.getByTestId("show-secret").click();
  await expect(key).toHaveAttribute("type", "text");
  await page.getByTestId("show-secret").click();
  await expect(key).toHaveAttribute("type", "password");

  const model = page.getByTestId("model-id");
  const options = dialog.getByRole("option");
  await test.step("the provider's models can be searched", async () => {
    await page.getByTestId("find-models").click();
    await expect(page.getByTestId("models-found")).toContainText("301 models found.");
    await expect(model).toBeFocused();
    await expect(options, "only the first ones are in the document").toHaveCount(100);
    await expect(dialog).toContainText("100 of 301 matches");
    await page.keyboard.type("LAR");
    await expect(options).toHaveText(/Large/);
    await expect(model).toHaveAttribute("aria-activedescendant", (await options.first().getAttribute("id"))!);
    await page.keyboard.press("Escape");
    await expect(options).toHaveCount(0);
    await expect(dialog, "Esc closes only the list").toBeVisible();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.type("ge");
    await page.keyboard.press("Enter");
    await expect(model).toHaveValue("maker/large");
  });

  await test.step("what the provider says about it is filled in", async () => {
    await expect(page.getByTestId("setup-name")).toHaveValue("Large");
    await expect(page.getByTestId("setup-further")).toContainText("128,000 tokens · images");
    await page.getByTestId("setup-further").locator("summary").click();
    await expect(page.getByTestId("model-input-price")).toHaveValue("2.5");
    await expect(page.getByTestId("model-output-price")).toHaveValue("10");
    await expectChosen(page.getByTestId("model-vision"), "yes");
    await choose(page.getByTestId("model-tool-mode"), "native");
  });

  await test.step("a test shows the answer", async () => {
    provider.answer(["I am ready."]);
    provider.answer([CALL]);
    await page.getByTestId("test-setup").click();
    const result = page.getByTestId("test-result");
    await expect(result).toHaveAttribute("data-ok", "true");
    await expect(result).toContainText("I am ready.");
    await expect(result).toContainText(/after \d+\.\d s/);
    await expect(result).toContainText("Tools: Native · Reads images: Yes");
  });

  await page.getByTestId("save-setup").click();
  await expect(dialog).toHaveCount(0);
  await expect(page.getByTestId("setup-status")).toHaveText("Large is connected. You can choose it now.");
  await expectChosen(page.getByTestId("model"), "Large", "the new default");
  await expect(page.getByTestId("demo-notice")).toHaveCount(0);
  await expect(page.getByTestId("composer")).toBeFocused();
  const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state, location.href]));
  expect(kept).not.toContain(KEY);

  const chat = new ChatPage(page);
  provider.answer(["Greetings from Large."]);
  const answer = await chat.ask("Who are you?");
  await expect(answer).toContainText("Greetings from Large.");
  await expect(answer.getByTestId("author").locator(".listbox-value")).toHaveText("Large");
});

test("a wrong key is reported at its field, a wait can be cancelled, and nothing typed is lost", async ({ page, tolerated }) => {
  tolerated.push(/status of (409|502)/);
  const dialog = await begin(page, "sk-wrong");
  await page.getByTestId("setup-secret").press("Enter");
  await expect(page.getByTestId("setup-secret-problem")).toContainText("rejected the API key");
  await expect(page.getByTestId("setup-secret")).toBeFocused();
  await expect(page.getByTestId("setup-secret")).toHaveAttribute("aria-invalid", "true");
  await expect(page.getByTestId("setup-address")).toHaveValue(provider.url);
  await expect(page.getByTestId("setup-secret")).toHaveValue("sk-wrong");

  await page.getByTestId("model-id").fill("by-hand");
  await page.getByTestId("setup-name").fill("demo");
  await page.getByTestId("test-setup").click();
  await expect(page.getByTestId("test-result")).toHaveAttribute("data-ok", "false");
  await expect(page.getByTestId("test-result")).toContainText("rejected the API key");

  await page.getByTestId("setup-secret").fill(KEY);
  await expect(page.getByTestId("test-result"), "it was about the other key").toHaveCount(0);
  // The server does not respond.
  await page.route("**/api/admin/models/discover", () => {});
  await page.getByTestId("find-models").click();
  await expect(dialog).toContainText("Finding models…");
  await page.getByTestId("cancel-find").click();
  await expect(page.getByTestId("find-models")).toBeFocused();
  await expect(dialog).not.toContainText("Finding models…");
  await page.unroute("**/api/admin/models/discover");

  await page.getByTestId("save-setup").click();
  await expect(page.getByTestId("setup-name-problem"), "the demo model has this name").toBeVisible();
  await expect(page.getByTestId("setup-name")).toBeFocused();
  await expect(page.getByTestId("model-id")).toHaveValue("by-hand");
  await page.getByTestId("setup-name").fill("Mine");
  await page.keyboard.press("Enter");
  await expect(dialog).toHaveCount(0);
  await expectChosen(page.getByTestId("model"), "Mine");

  await test.step("the next dialog starts empty", async () => {
    await page.keyboard.press("Control+k");
    await page.getByTestId("palette-field").fill("connect a model");
    await page.keyboard.press("Enter");
    await page.getByTestId("provider-compatible").check();
    await expect(page.getByTestId("setup-secret")).toHaveValue("");
    await page.keyboard.press("Escape");
    await expect(dialog).toHaveCount(0);
  });
});

test("choosing Ollama lists its models without a press, and fails quietly", async ({ page, tolerated }) => {
  tolerated.push(/status of 502/);
  await page.goto("/");
  await alive(page);
  // Ollama's own address belongs to the machine of the test, so the request goes to the scripted provider.
  let asked = 0;
  await page.route("**/api/admin/models/discover", async (route) => {
    // The dialog looks for it when it opens.
    if (route.request().postDataJSON().optional) return route.fulfill({ json: { items: [{ model: "local" }] } });
    expect(route.request().postDataJSON()).toEqual({ provider: "ollama", base_url: "http://127.0.0.1:11434/v1" });
    asked += 1;
    const elsewhere = { provider: "openai", base_url: provider.url, api_key: asked === 1 ? "sk-wrong" : KEY };
    await route.continue({ postData: JSON.stringify(elsewhere) });
  });
  await page.getByTestId("connect-model").click();
  await expect(page.getByTestId("provider-found")).toHaveText("Found on this server");
  await expect(page.locator("label", { has: page.getByTestId("provider-found") })).toContainText("Ollama");
  const refused = page.waitForResponse("**/api/admin/models/discover");
  await page.getByTestId("provider-ollama").check();
  expect((await refused).status()).toBe(502);
  await expect(page.getByTestId("setup-address")).toHaveValue("http://127.0.0.1:11434/v1");
  await expect(page.getByTestId("find-models")).toHaveText("Find models");
  await expect(page.getByTestId("setup-address-problem")).toHaveCount(0);
  await expect(page.getByTestId("provider-ollama"), "the focus stays").toBeFocused();

  await page.getByTestId("provider-compatible").check();
  await page.getByTestId("provider-ollama").check();
  await expect(page.getByTestId("models-found")).toContainText("301 models found.");
  await expect(page.getByTestId("provider-ollama")).toBeFocused();
  await page.getByTestId("model-id").fill("large");
  await page.getByTestId("setup-dialog").getByRole("option", { name: "Large" }).click();
  await expect(page.getByTestId("model-id")).toHaveValue("maker/large");
  expect(asked).toBe(2);
});

test("the settings test, change and remove a model, and show those of the settings file", async ({ page, request, tolerated }) => {
  tolerated.push(/status of 412/);
  await add(request, "Large");
  await page.goto("/settings");
  const row = (name: string) => page.getByTestId("section-models").getByTestId("entry").filter({ hasText: name });
  await expect(row("demo")).toContainText("in the settings file");
  await expect(row("demo").getByTestId("edit-entry")).toHaveCount(0);
  await expect(row("demo").getByTestId("remove-entry")).toHaveCount(0);
  await expect(page.getByTestId("section-models")).toContainText("edit the file or the environment variables");
  await expect(row("Large")).toContainText("added here");
  await expect(row("Large").locator(".setting-badge")).toHaveText("Default");

  await test.step("test", async () => {
    provider.answer(["Here I am."]);
    provider.answer([CALL]);
    provider.answer(["Red."]);
    await row("Large").getByTestId("test-entry").click();
    await expect(row("Large").getByTestId("test-result")).toContainText("Here I am.");
  });

  const dialog = page.getByTestId("setup-dialog");
  await test.step("change, while another admin changes it, too", async () => {
    await row("Large").getByTestId("edit-entry").click();
    await expect(dialog.getByRole("heading", { name: "Edit Large" })).toBeVisible();
    await expect(page.getByTestId("setup-secret")).toHaveValue("");
    await expect(page.getByTestId("setup-name"), "the name stays").toHaveCount(0);
    await page.getByTestId("setup-further").locator("summary").click();
    await page.getByTestId("model-max-tokens").fill("many");
    await page.getByTestId("save-setup").click();
    await expect(page.getByTestId("model-max-tokens")).toBeFocused();
    await expect(page.getByTestId("model-max-tokens-problem")).toHaveText("Enter a whole number, such as 128000.");
    await page.getByTestId("model-max-tokens").fill("2,000");
    expect((await request.patch("/api/admin/models/Large", { data: { temperature: 0.5 } })).status()).toBe(200);
    await page.getByTestId("save-setup").click();
    const problem = page.getByTestId("setup-problem");
    await expect(problem).toContainText("Another admin changed these settings.");
    await expect(problem).toBeFocused();
    await expect(page.getByTestId("model-max-tokens")).toHaveValue("2,000");
    await expect(page.getByTestId("model-temperature")).toHaveValue("0.5");
    await page.getByTestId("save-setup").click();
    await expect(dialog).toHaveCount(0);
    await expect(page.getByTestId("setup-status")).toHaveText("Large is saved.");
    await expect(row("Large").getByTestId("edit-entry")).toBeFocused();
    const stored = await (await request.get("/api/admin/models/Large")).json();
    expect([stored.max_tokens, stored.temperature, stored.has_key]).toEqual([2000, 0.5, true]);
  });

  await test.step("remove", async () => {
    await row("Large").getByTestId("remove-entry").click();
    await expect(page.getByTestId("cancel-removal")).toBeFocused();
    await page.keyboard.press("Enter");
    await expect(row("Large").getByTestId("remove-entry")).toBeFocused();
    await row("Large").getByTestId("remove-entry").click();
    expect((await request.patch("/api/admin/models/Large", { data: { temperature: 0.7 } })).status()).toBe(200);
    await page.getByTestId("confirm-removal").click();
    await expect(page.getByTestId("section-models").getByTestId("problem")).toContainText("Another admin has changed this model");
    await expect(row("Large").getByTestId("edit-entry"), "the list has the new version").toBeFocused();
    await row("Large").getByTestId("remove-entry").click();
    await page.getByTestId("confirm-removal").click();
    await expect(row("Large")).toHaveCount(0);
    await expect(page.getByTestId("setup-status")).toHaveText("Large is removed.");
    await expect(page.getByTestId("section-models").getByTestId("connect-model")).toBeFocused();
    expect((await request.get("/api/admin/models/Large")).status()).toBe(404);
  });
});

test("a model that one of the settings file hides can only be removed", async ({ page }) => {
  await page.route("**/api/admin/models", async (route) => {
    const response = await route.fetch();
    const list = await response.json();
    const problem = "The settings file or the environment has a model of the same name, which is used instead.";
    list.items.push({ name: "demo", provider: "openai", origin: "page", has_key: true, is_default: false, problem, problem_code: "set_in_file", version: 7 });
    await route.fulfill({ response, json: list });
  });
  await page.route("**/api/admin/models/demo", async (route) => {
    expect([route.request().method(), route.request().headers()["if-match"]]).toEqual(["DELETE", '"7"']);
    await page.unroute("**/api/admin/models");
    await route.fulfill({ status: 204 });
  });
  await page.goto("/settings");
  const rows = page.getByTestId("section-models").getByTestId("entry");
  const hidden = rows.filter({ hasText: "has one of the same name" });
  await expect(rows.first().getByTestId("test-entry")).toBeVisible();
  await expect(hidden.getByTestId("test-entry")).toHaveCount(0);
  await expect(hidden.getByTestId("edit-entry")).toHaveCount(0);
  await hidden.getByTestId("remove-entry").click();
  await page.getByTestId("confirm-removal").click();
  await expect(rows).toHaveCount(1);
});

test.describe("in Japanese on a phone", () => {
  test.use({ locale: "ja-JP", viewport: { width: 360, height: 740 } });

  test("a model is connected with the keyboard alone", async ({ page }) => {
    await page.goto("/");
    await alive(page);
    await page.getByTestId("connect-model").press("Enter");
    const dialog = page.getByTestId("setup-dialog");
    await expect(page.getByTestId("provider-anthropic")).toBeFocused();
    await page.keyboard.press("ArrowUp");
    await expect(page.getByTestId("provider-compatible")).toBeChecked();
    await page.keyboard.press("Tab");
    await page.keyboard.type(provider.url);
    await page.keyboard.press("Tab");
    await page.keyboard.type(KEY);
    await page.keyboard.press("Enter");
    await expect(page.getByTestId("models-found")).toContainText("301件のモデルが見つかりました。");
    await expect(page.getByTestId("model-id")).toBeFocused();
    await page.keyboard.type("large");
    const option = dialog.getByRole("option", { name: "Large" });
    await expect(option).toBeInViewport({ ratio: 1 });
    expect(await findings(page, "[data-testid=setup-dialog]"), "with the list").toEqual(NOTHING);
    await expect(option).toBeVisible();
    await page.keyboard.press("Enter");
    await expect(page.getByTestId("setup-name")).toHaveValue("Large");
    await page.getByTestId("setup-further").locator("summary").press("Enter");
    provider.answer(["準備ができました。"]);
    await page.getByTestId("test-setup").press("Enter");
    await expect(page.getByTestId("test-result")).toContainText("モデルが応答しました");
    await expect(page.getByTestId("test-result")).toBeInViewport({ ratio: 1 });
    expect(await findings(page, "[data-testid=setup-dialog]"), "with the result").toEqual(NOTHING);
    await expectNarrow(page, dialog);
    await page.getByTestId("save-setup").press("Enter");
    await expect(page.getByTestId("setup-status")).toHaveText("Largeを接続しました。すぐに選べます。");
    await page.goto("/settings");
    await expect(page.getByTestId("section-models").getByTestId("entry")).toHaveCount(2);
    expect(await findings(page, "[data-testid=section-models]"), "the settings").toEqual(NOTHING);
    await expectNarrow(page, page.getByTestId("section-models"));
  });
});
