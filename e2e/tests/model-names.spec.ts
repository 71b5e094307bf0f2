// Tests that models are selected by typing the beginning of their names.

import { rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { alive } from "../kit/chat.ts";
import { expectChosen } from "../kit/listbox.ts";
import { expect, test } from "../kit/test.ts";

const file = join(tmpdir(), `tallybook-model-names-${process.pid}.toml`);
const NAMES = ["Model 1", "Model 2", "Model 3.5"];

// As in models.spec.ts: the server starts before any hook runs.
if (process.env.TEST_WORKER_INDEX !== undefined) {
  writeFileSync(file, NAMES.map((name) => `[[models]]\nname = "${name}"\nprovider = "demo"\n`).join(""));
}

test.use({ settings: { CONFIG_FILE: file } });
test.afterAll(() => rmSync(file, { force: true }));

test("the typed beginning of a name may contain spaces and signs", async ({ page }) => {
  await page.goto("/");
  await alive(page);
  const picker = page.getByTestId("model");
  await expectChosen(picker, "Model 1");
  // The code of the header loads with the first click.
  await picker.click();
  await expect(page.getByRole("option", { name: "Model 2" }).first()).toBeVisible();
  await page.keyboard.type("model 3.");
  await expect(picker, "the list stays open until Enter").toHaveAttribute("aria-expanded", "true");
  await page.keyboard.press("Enter");
  await expectChosen(picker, "Model 3.5");
  await picker.focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Home");
  await page.keyboard.press(" ");
  await expectChosen(picker, "Model 1", "without a typed beginning, Space selects");
});
