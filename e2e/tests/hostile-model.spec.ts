// The name of the model is text from outside too.

import { LINE, watch } from "../kit/hostile.ts";
import { expect, test } from "../kit/test.ts";

test.use({ settings: { LLM_PROVIDER: "ollama", LLM_MODEL: LINE } });

test("a model's name is text", async ({ page }) => {
  const harmless = await watch(page);
  await page.goto("/");
  await expect(page.getByTestId("composer")).toBeEnabled();
  await expect(page.getByTestId("model")).toContainText(LINE);
  await harmless();
});
