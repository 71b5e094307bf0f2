// Tests Markdown in an answer, live and after a reload: how it is drawn, and that it runs no script and loads nothing foreign.

import type { Page } from "@playwright/test";
import { ChatPage, holdProgram } from "../kit/chat.ts";
import { gate } from "../kit/model.ts";
import { expect, test } from "../kit/test.ts";

test.use({ scripted: true, settings: { LLM_TITLES: "false" } });

const DOCUMENT = `# A title

A paragraph with *emphasis*, **weight**, ~~a slip~~, \`code\` and a [link](https://example.com/page "Its title").

- one
- two
  1. nested
  2. again
- [x] done
- [ ] open

| Item | Sum |
|------|----:|
| Tea  |  3  |

> A quote.

\`\`\`rust
fn main() {
    println!("<b>&amp;</b>");
}
\`\`\`

---

<b>not bold</b><script>alert(1)</script>

[script](javascript:alert(1)) [data](data:text/html,<script>alert(1)</script>) [late]

![A picture](https://images.invalid/a.png) ![Inline](data:image/png;base64,AAAA)

[late]: https://example.com/late
`;

/** Returns the elements and text of the answer as HTML, without the attributes of the message around it. */
async function prose(page: Page): Promise<string> {
  await expect(page.locator(".part:not([data-measured])")).toHaveCount(0);
  return page.locator(".prose").evaluate((element) => {
    // Merges adjacent text nodes, because a reader cannot tell them apart.
    element.normalize();
    return element.innerHTML;
  });
}

test("each construct is rendered, identically after a reload", async ({ page, model }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  model.answer(DOCUMENT.match(/[^]{1,7}/g)!);
  const answer = await chat.ask("Show me everything.");

  await expect(answer.getByRole("heading", { level: 3, name: "A title" })).toBeVisible();
  await expect(answer.locator("em")).toHaveText("emphasis");
  await expect(answer.locator("strong")).toHaveText("weight");
  await expect(answer.locator("del")).toHaveText("a slip");
  await expect(answer.locator("p > code")).toHaveText("code");
  await expect(answer.getByRole("link", { name: "link" })).toHaveAttribute("href", "https://example.com/page");
  await expect(answer.locator("ul > li > ol > li")).toHaveText(["nested", "again"]);
  await expect(answer.getByRole("checkbox", { name: "Done", exact: true })).toBeChecked();
  await expect(answer.getByRole("checkbox", { name: "Not done" })).not.toBeChecked();
  await expect(answer.getByRole("group", { name: "Table" }).getByRole("row")).toHaveText(["ItemSum", "Tea3"]);
  await expect(answer.locator("blockquote")).toHaveText("A quote.");
  await expect(answer.locator("pre > code")).toHaveText('fn main() {\n    println!("<b>&amp;</b>");\n}\n');
  await expect(answer.locator("hr")).toBeVisible();
  await expect(answer.getByRole("link", { name: "late" })).toHaveAttribute("href", "https://example.com/late");

  const live = await prose(page);
  await page.reload();
  expect(await prose(page)).toBe(live);
});

test("an answer of many blocks is split into parts, identically after a reload", async ({ page, model }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  // The link is defined last, so paragraphs of the first blocks change again at the end.
  model.answer(Array.from({ length: 90 }, (_, at) => `Block [late] ${at}.\n\n`).concat("[late]: https://example.com/late\n"));
  const answer = await chat.ask("Write at length.");
  await expect(answer.locator(".part")).toHaveCount(3);
  await expect(answer.locator(".part").first().locator("> *")).toHaveCount(32);
  await expect(answer.getByRole("link", { name: "late" })).toHaveCount(90);
  await expect(answer.locator(".part").first()).toHaveCSS("content-visibility", "auto");
  const live = await prose(page);
  await page.reload();
  expect(await prose(page)).toBe(live);
  await expect(answer.locator(".part").first()).toHaveCSS("content-visibility", "auto");
});

test("markup stays text, and addresses that could run scripts or leak data are not links", async ({ page, model, baseURL }) => {
  const foreign: string[] = [];
  page.on("dialog", (dialog) => foreign.push(`dialog: ${dialog.message()}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(baseURL!)) foreign.push(request.url());
  });
  const chat = new ChatPage(page);
  await page.goto("/");
  model.answer([DOCUMENT]);
  await chat.ask("Show me everything.");
  for (const when of ["live", "reloaded"]) {
    const answer = chat.answers.first();
    await expect(answer, when).toContainText("<b>not bold</b><script>alert(1)</script>");
    await expect(answer.locator("script, b, img, iframe, object, [onerror]"), when).toHaveCount(0);
    const addresses = await answer.getByRole("link").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
    expect(addresses, when).toEqual([
      "https://example.com/page",
      "https://example.com/late",
      "https://images.invalid/a.png",
    ]);
    await page.reload();
  }
  expect(foreign).toEqual([]);
});

test("a link opens in a new tab, without a referrer", async ({ page, context, model }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  model.answer([DOCUMENT]);
  const answer = await chat.ask("Show me everything.");
  await context.route("https://example.com/**", (route) => route.fulfill({ contentType: "text/html", body: "<p>There.</p>" }));
  const opened = page.waitForEvent("popup");
  await answer.getByRole("link", { name: "link" }).click();
  const other = await opened;
  await expect(other.getByText("There.")).toBeVisible();
  expect(await other.evaluate(() => [window.opener, document.referrer])).toEqual([null, ""]);
  for (const link of await answer.getByRole("link").all()) {
    await expect(link).toHaveAttribute("rel", /noopener noreferrer/);
    await expect(link).toHaveAttribute("target", "_blank");
  }
});

test("an answer is copied as Markdown", async ({ page, context, model }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const chat = new ChatPage(page);
  await page.goto("/");
  model.answer([DOCUMENT]);
  const answer = await chat.ask("Show me everything.");
  await answer.getByRole("button", { name: "Copy this answer" }).click();
  await expect(answer.getByRole("button", { name: "Copied", exact: true })).toBeVisible();
  expect((await page.evaluate(() => navigator.clipboard.readText())).trim()).toBe(DOCUMENT.trim());
});

test("code is copied by its button", async ({ page, model, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const chat = new ChatPage(page);
  await page.goto("/");
  const code = Array.from({ length: 100 }, (_, line) => `line ${line} <i>\n`).join("");
  model.answer([`\`\`\`text\n${code}\`\`\`\n`]);
  const answer = await chat.ask("Write a hundred lines.");
  for (const when of ["live", "reloaded"]) {
    await page.evaluate(() => navigator.clipboard.writeText("something else"));
    await answer.getByTestId("copy-code").click();
    await expect(answer.getByTestId("copy-code"), when).toHaveAttribute("data-copied", "");
    expect(await page.evaluate(() => navigator.clipboard.readText()), when).toBe(code);
    await page.reload();
  }
  await page.evaluate(() => navigator.clipboard.writeText("something else"));
  const release = await holdProgram(page);
  await page.reload({ waitUntil: "commit" });
  await answer.getByTestId("copy-code").click();
  release();
  const when = "asked for before the page's program is there";
  await expect(answer.getByTestId("copy-code"), when).toHaveAttribute("data-copied", "");
  expect(await page.evaluate(() => navigator.clipboard.readText()), when).toBe(code);
});

test("finished blocks do not change while the answer grows", async ({ page, model }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  const held = gate();
  async function* pieces() {
    yield "# First\n\nA **second** block.\n\n- a\n- list\n\nA block that ";
    await held.opened;
    for (let piece = 0; piece < 50; piece++) yield `grows ${piece}.\n\n`;
    yield "```\ncode\n```\n\nThe end.\n";
  }
  model.answer(pieces());
  const answer = await chat.send("Write slowly.");
  await expect(answer).toContainText("A block that");

  const touched = await answer.locator(".prose").evaluateHandle((prose) => {
    const touched: string[] = [];
    for (const block of [...prose.querySelectorAll(".part > *")].slice(0, 3)) {
      new MutationObserver(() => touched.push(block.outerHTML)).observe(block, {
        subtree: true,
        childList: true,
        characterData: true,
        attributes: true,
      });
    }
    new MutationObserver((changes) => {
      for (const gone of changes.flatMap((change) => [...change.removedNodes])) touched.push(`removed ${gone.textContent}`);
    }).observe(prose.querySelector(".part")!, { childList: true });
    return touched;
  });
  held.open();
  await expect(answer).toHaveAttribute("data-status", "complete");
  await expect(answer).toContainText("The end.");
  expect(await touched.jsonValue()).toEqual([]);
});

test("an answer that is scrolled while it grows continues after a reload", async ({ page, model }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  const held = gate();
  async function* pieces() {
    yield "# First\n\n```rust\nfn main() {";
    await held.opened;
    yield "}\n```\n\nThe *end*.\n";
  }
  model.answer(pieces());
  await expect(await chat.send("Write slowly.")).toContainText("fn main");
  await page.reload();
  const answer = chat.answers.first();
  await expect(answer).toContainText("fn main");
  held.open();
  await expect(answer).toHaveAttribute("data-status", "complete");
  await expect(answer.locator("pre > code")).toHaveText("fn main() {}\n");
  await expect(answer.locator(".part > *")).toHaveCount(3);
  const live = await prose(page);
  await page.reload();
  expect(await prose(page)).toBe(live);
});
