// Takes the picture of a new chat.

import { alive } from "../kit/chat.ts";
import { test } from "../kit/test.ts";
import { SIZES, picture } from "./picture.ts";

test("pictures", async ({ page }) => {
  await page.setViewportSize(SIZES.wide);
  await page.goto("/");
  await alive(page);
  await picture(page, "start", [["dark", "narrow"]]);
});
