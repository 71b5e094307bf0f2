// Walks through the page as a screen reader presents it: the accessibility tree of a new chat, an answer with a tool call, an
// approval, a plan, and the search. The trees name what the user hears, in order; parts that vary are patterns.

import { randomInt } from "node:crypto";
import { ChatPage, alive } from "../kit/chat.ts";
import { openWaiting, pay, ready, waiting } from "../kit/approval.ts";
import { attach, textFile } from "../kit/files.ts";
import { call, conversation, open, planned } from "../kit/seed.ts";
import { expect, test } from "../kit/test.ts";

test.use({ demoPaceMs: 0 });

test("a new chat offers the list, the examples and the message field", async ({ page }) => {
  await page.goto("/");
  await alive(page);
  await expect(page.locator("body")).toMatchAriaSnapshot(`
    - link "Skip to main content"
    - navigation "Conversations":
      - link "Tallybook"
      - link "New chat"
      - searchbox "Search titles and messages"
      - heading "Conversations" [level=2]
      - link "Settings"
      - button "Shortcuts"
    - main:
      - button "Hide conversations" [expanded]
      - button /Tools \\d+/
      - log "Messages":
        - heading "What shall we work out?" [level=1]
        - list:
          - listitem:
            - button "What is (12.5 + 7.25) × 4?"
        - heading "Available tools:" [level=2]
        - list:
          - listitem:
            - button "Add"
      - textbox "Message"
      - button "Attach files"
      - button "Send" [disabled]
  `);
});

test("an answer is announced, with its call between its paragraphs", async ({ page }) => {
  const chat = new ChatPage(page);
  await page.goto("/");
  const answer = await chat.ask("What is 2 + 3?");
  await expect(page.locator("main")).toMatchAriaSnapshot(`
    - main:
      - button "What is 2 + 3?"
      - heading "What is 2 + 3?" [level=1]
      - log "Messages":
        - article:
          - heading "You said" [level=2]
          - text: What is 2 + 3?
          - button "Copy this message"
          - button "Copy a link to this message"
          - button "Edit"
        - article:
          - heading "Answer" [level=2]
          - paragraph: Let me work that out.
          - button /add done/
          - paragraph:
            - text: "Done: 2 + 3 ="
            - strong: "5"
          - button "Copy this answer"
          - button "Regenerate"
          - button "More actions"
      - status: The answer is complete.
      - textbox "Message"
  `);
  await answer.getByRole("button", { name: /add/ }).press("Enter");
  await expect(answer).toMatchAriaSnapshot(`
    - article:
      - button /add .*done/ [expanded]
      - heading "Input" [level=3]
      - button "Copy"
      - group "Input":
        - term: a
        - definition: "2"
        - term: b
        - definition: "3"
      - heading "Output" [level=3]
      - button "Copy"
      - group "Output": "5"
      - paragraph: /Ran at/
  `);
  const copies = answer.getByTestId("copy");
  await expect(copies.first(), "each button says what it copies").toHaveAccessibleDescription("Input");
  await expect(copies.last()).toHaveAccessibleDescription("Output");
});

test("attached files are a list, and the end of each upload is announced", async ({ page, tolerated }) => {
  tolerated.push(/status of 415/);
  await page.goto("/");
  await alive(page);
  await attach(page, textFile("notes.txt", "Heron."));
  await expect(page.getByRole("status").filter({ hasText: "1 file uploaded." })).toBeAttached();
  await attach(page, textFile("more.txt", "Stork."), { name: "a.exe", mimeType: "application/octet-stream", buffer: Buffer.from([0x4d, 0x5a, 0, 1]) });
  await expect(page.getByRole("status").filter({ hasText: "2 files uploaded. Not uploaded: a.exe." })).toBeAttached();
  await expect(page.locator("form.composer")).toMatchAriaSnapshot(`
    - list "Attached files":
      - listitem:
        - text: /notes.txt 6 bytes/
        - button "Remove notes.txt"
      - listitem:
        - text: /more.txt 6 bytes/
        - button "Remove more.txt"
      - listitem:
        - text: /a.exe 4 bytes · This kind of file is not accepted/
        - button "Remove a.exe"
    - status: "2 files uploaded. Not uploaded: a.exe."
    - textbox "Message"
    - button "Attach files"
    - button "Send"
  `);
  await page.getByRole("button", { name: "Remove a.exe" }).press("Enter");
  await expect(page.getByRole("textbox", { name: "Message" })).toBeFocused();
});

test("an approval names the tool, the risk and the choices, and says that it waits", async ({ page }) => {
  await page.clock.install();
  await openWaiting(page, waiting(pay(5)));
  await ready(page);
  await expect(page.locator("main")).toMatchAriaSnapshot(`
    - main:
      - log "Messages":
        - article:
          - heading "Answer" [level=2]
          - button "bank · pay awaiting approval"
          - status: "bank · pay: awaiting approval"
          - group "Allow bank · pay to run?":
            - heading "Allow bank · pay to run?" [level=3]
            - paragraph: /It can change things there/
            - heading "Input" [level=3]
            - group "Input":
              - term: amount
              - definition: "5"
              - term: to
              - definition: Ada
            - button "Allow once"
            - button "Always allow"
            - combobox "Scope": in this conversation
            - button "Deny"
            - button "Edit input"
      - status: 1 tool call needs your approval.
      - button "Review"
      - textbox "Message"
      - button "Stop"
  `);
});

test("a plan is a list of steps with their states and reasons", async ({ page }) => {
  const calls = [call("add", { a: 1, b: 2 })];
  const plan = planned([
    { instruction: "Add 1 and 2.", status: "completed", attempt: 1, offset: 0, calls_before: 0, end_offset: 10 },
    { instruction: "Read it.", status: "failed", attempt: 1, reason: "It is gone.", offset: 10, calls_before: 1, end_offset: 10 },
  ]);
  await open(page, conversation("Plan", [["Add, then read", { content: "It is 3.\n\nDone.", calls, plan }]]));
  await expect(page.getByRole("log")).toMatchAriaSnapshot(`
    - log "Messages":
      - article:
        - heading "Answer" [level=2]
        - group "Plan":
          - heading "Plan" [level=3]
          - text: 1 of 2 steps done
          - list:
            - listitem:
              - button "Add 1 and 2. done"
            - listitem:
              - button "Read it. failed"
              - paragraph: It is gone.
        - paragraph: Done.
  `);
});

test("the search announces the number of its matches", async ({ page }) => {
  const chat = new ChatPage(page);
  // No other conversation on this server has this number.
  const number = String(randomInt(1e9, 1e10));
  await page.goto("/");
  await chat.ask(`What is ${number} + 3?`);
  await page.getByTestId("search").fill(`is ${number}`);
  await expect(page.getByTestId("search-status")).toHaveText("1 match");
  await expect(page.getByTestId("sidebar")).toMatchAriaSnapshot(`
    - navigation "Conversations":
      - searchbox "Search titles and messages": is ${number}
      - list:
        - listitem:
          - link "What is ${number} + 3?"
      - heading "In messages" [level=2]
      - list:
        - listitem:
          - link /What is ${number} \\+ 3\\? You/
      - status: 1 match
  `);
});
