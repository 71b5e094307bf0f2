// Tests that the name of a model stays text, because it is untrusted text, too.

import { alive } from "../kit/chat.ts";
import { LINE, watch } from "../kit/hostile.ts";
import { expect, test } from "../kit/test.ts";

test.use({ settings: { LLM_PROVIDER: "ollama", LLM_MODEL: LINE } });

test("the name of a model stays text", async ({ page }) => {
  const harmless = await watch(page);
  await page.goto("/");
  await alive(page);
  await expect(page.getByTestId("model")).toContainText(LINE);
  await harmless();
});
