// Tests the progress that a tool reports: it is visible below the call's line while the call runs, and no step of it is announced.

import { playTurn } from "../kit/live.ts";
import { expect, test } from "../kit/test.ts";

const CALL = { tool_call_id: 1, tool_name: "crawl", input: { depth: 9 }, offset: 0 };

test("a call shows its progress until it ends", async ({ page }) => {
  const turn = await playTurn(page);
  await turn.say("tool_call_start", CALL);
  const progress = page.getByTestId("tool-progress");
  await expect(page.getByTestId("tool-call")).toBeVisible();
  await expect(progress).toHaveCount(0);
  await turn.say("tool_call_progress", { tool_call_id: 1, progress: 3, total: 10, message: "reading\n<b>page 3</b>" });
  await expect(progress).toHaveText("3 of 10 · reading <b>page 3</b>");
  const bar = progress.getByRole("progressbar");
  await expect(bar).toHaveJSProperty("position", 0.3);
  await turn.say("tool_call_progress", { tool_call_id: 1, progress: 4, message: "x".repeat(50_000) });
  await expect(bar, "the total is unknown").toHaveJSProperty("position", -1);
  expect((await progress.textContent())!.length).toBeLessThan(140);
  expect(await page.locator("#thread").evaluate((area) => area.scrollWidth - area.clientWidth)).toBe(0);
  expect(await progress.evaluate((shown) => shown.closest("[aria-live]")!.getAttribute("aria-live"))).toBe("off");
  await expect(page.locator("article [role=status]").filter({ hasText: "of 10" })).toHaveCount(0);
  await turn.say("tool_call_end", { tool_call_id: 1, output: "ok", error: null, status: "success", duration_ms: 9 });
  await expect(page.getByTestId("tool-call")).toHaveAttribute("data-status", "success");
  await expect(progress).toHaveCount(0);
});

test("with reduced motion, the progress bar does not move", async ({ page }) => {
  await page.emulateMedia({ reducedMotion: "reduce" });
  const turn = await playTurn(page);
  await turn.say("tool_call_start", CALL);
  await turn.say("tool_call_progress", { tool_call_id: 1, progress: 4 });
  await expect(page.getByRole("progressbar")).toHaveCSS("animation-name", "none");
});
