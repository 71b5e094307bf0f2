// Tests the export of a conversation that contains every attack: the file from the menu, and the page at the export's address.

import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { ChatPage, alive, toolCalls } from "../kit/chat.ts";
import { ALL, ATTACKS, LINE, watch } from "../kit/hostile.ts";
import { expect, test } from "../kit/test.ts";

test.use({ scripted: true, settings: { LLM_TITLES: "false" } });

const FORMATS = {
  markdown: { type: "text/markdown; charset=utf-8", end: "md" },
  json: { type: "application/json", end: "json" },
};

for (const [format, { type, end }] of Object.entries(FORMATS)) {
  test(`${format} with all attacks in it is a file of text`, async ({ page, context, model, request }, testInfo) => {
    const title = LINE.slice(0, 200);
    const { uuid } = await (await request.post("/api/conversations", { data: { title } })).json();
    model.answer([ALL, { tool: "evaluate", input: JSON.stringify({ expression: ALL }) }, { tool: LINE, input: ALL }]);
    model.answer([`And so:\n\n${ALL}`]);
    const harmless = await watch(page);
    const chat = new ChatPage(page);
    await page.goto(`/c/${uuid}`);
    const answer = await chat.ask(ALL);
    for (const when of ["live", "reloaded"]) {
      await page.getByTestId("tool-group").click();
      await expect(toolCalls(answer), when).toHaveCount(2);
      for (const line of await toolCalls(answer).all()) await line.click();
      await expect(page.getByTestId("tool-call-details"), when).toHaveCount(2);
      await harmless();
      await page.reload();
      await alive(page);
    }

    const address = `/api/conversations/${uuid}/export?format=${format}`;
    const response = await request.get(address);
    const { "content-disposition": disposition, ...headers } = response.headers();
    expect(headers["content-type"]).toBe(type);
    expect(headers["x-content-type-options"]).toBe("nosniff");
    expect(headers["content-security-policy"]).toContain("default-src 'none'");
    expect(disposition).toMatch(new RegExp(String.raw`^attachment; filename="[\w-]+\.${end}"; filename\*=UTF-8''[\w%-]+\.${end}$`));
    const content = await response.text();
    for (const word of ["alert(1)", "evil.invalid", "evaluate"]) expect(content, "nothing is left out").toContain(word);

    const kept = testInfo.outputPath(`kept.${end}`);
    await test.step("the menu downloads it with a valid file name", async () => {
      await page.getByTestId("conversation-menu").click();
      const download = page.waitForEvent("download");
      await page.getByTestId(format).click();
      const file = await download;
      expect(file.suggestedFilename()).toMatch(new RegExp(String.raw`^[\w-]+\.${end}$`));
      await file.saveAs(kept);
      expect(await readFile(kept, "utf8")).toBe(content);
      await harmless();
    });

    const other = await context.newPage();
    const otherHarmless = await watch(other);
    await test.step("its address starts a download and never shows a page", async () => {
      const download = other.waitForEvent("download");
      await expect(other.goto(address)).rejects.toThrow(/Download is starting/);
      await (await download).cancel();
      expect(other.url()).toBe("about:blank");
      await otherHarmless();
    });

    await test.step("a browser that shows it anyway shows text", async () => {
      await other.route(`**${address}`, (route) => route.fulfill({ headers, body: content }));
      for (const place of [address, pathToFileURL(kept).href]) {
        await other.goto(place);
        await expect(other.locator("pre"), place).toContainText(ATTACKS[5]!);
        await expect(other.locator("body :not(pre, .json-formatter-container)"), place).toHaveCount(0);
        await otherHarmless();
      }
    });
  });
}
