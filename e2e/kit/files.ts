// Files to attach: a picture that a camera took sideways, and documents.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { crc32, deflateSync } from "node:zlib";
import type { Locator, Page } from "@playwright/test";

export interface TestFile {
  name: string;
  mimeType: string;
  buffer: Buffer;
}

/** Chooses files with the button of the message field. */
export async function attach(page: Page, ...files: TestFile[]): Promise<void> {
  const chosen = page.waitForEvent("filechooser");
  await page.getByTestId("attach").click();
  await (await chosen).setFiles(files);
}

/** Pastes, drags or drops files on an element, as another program would. */
export async function transfer(target: Locator, kind: "paste" | "dragover" | "drop", ...files: TestFile[]): Promise<void> {
  const contents = files.map(({ name, mimeType, buffer }) => ({ name, mimeType, content: buffer.toString("base64") }));
  await target.evaluate(
    (target, { kind, contents }) => {
      const data = new DataTransfer();
      for (const { name, mimeType, content } of contents) {
        const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
        data.items.add(new File([bytes], name, { type: mimeType }));
      }
      const options = { bubbles: true, cancelable: true };
      target.dispatchEvent(
        kind === "paste" ? new ClipboardEvent(kind, { clipboardData: data, ...options }) : new DragEvent(kind, { dataTransfer: data, ...options }),
      );
    },
    { kind, contents },
  );
}

const FIXTURES = join(import.meta.dirname, "../../backend/documents/tests/fixtures");

/** Returns a photo that is stored sideways: its EXIF orientation is 6. */
export function sidewaysPhoto(): TestFile {
  return { name: "photo.jpg", mimeType: "image/jpeg", buffer: readFileSync(join(FIXTURES, "rotated.jpg")) };
}

/** Returns a black image of this size. */
export function blackImage(width: number, height: number): TestFile {
  const chunk = (name: string, content: Buffer) => {
    const named = Buffer.concat([Buffer.from(name), content]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(content.length);
    sum.writeUInt32BE(crc32(named));
    return Buffer.concat([length, named, sum]);
  };
  // 8 bits of gray for each pixel, and a byte before each row.
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.writeUInt8(8, 8);
  const pixels = deflateSync(Buffer.alloc((width + 1) * height));
  const signature = Buffer.from("89504e470d0a1a0a", "hex");
  const buffer = Buffer.concat([signature, chunk("IHDR", header), chunk("IDAT", pixels), chunk("IEND", Buffer.alloc(0))]);
  return { name: "black.png", mimeType: "image/png", buffer };
}

/** Returns a scanned document: a PDF with images of pages, and without text. */
export function scannedPdf(): TestFile {
  return { name: "scan.pdf", mimeType: "application/pdf", buffer: readFileSync(join(FIXTURES, "scanned.pdf")) };
}

/** Returns a text file. */
export function textFile(name: string, text: string): TestFile {
  return { name, mimeType: "text/plain", buffer: Buffer.from(text) };
}

/** Returns a PDF in Japanese, whose fonts are not embedded, with one line on each page: `1ページ目`, `2ページ目`, …. */
export function japanesePdf(pages: number): TestFile {
  const font = "<</Type/Font/Subtype/Type0/BaseFont/HeiseiMin-W3/Encoding/UniJIS-UCS2-H/DescendantFonts[4 0 R]>>";
  const descendant =
    "<</Type/Font/Subtype/CIDFontType0/BaseFont/HeiseiMin-W3/CIDSystemInfo<</Registry(Adobe)/Ordering(Japan1)/Supplement 2>>/DW 1000>>";
  const numbers = Array.from({ length: pages }, (_, index) => index);
  const kids = numbers.map((index) => `${5 + 2 * index} 0 R`).join(" ");
  const objects = ["<</Type/Catalog/Pages 2 0 R>>", `<</Type/Pages/Count ${pages}/Kids[${kids}]>>`, font, descendant];
  for (const index of numbers) {
    const stream = `BT /F1 24 Tf 72 700 Td <${Buffer.from(`${index + 1}ページ目`, "utf16le").swap16().toString("hex")}> Tj ET`;
    const page = `<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F1 3 0 R>>>>/Contents ${6 + 2 * index} 0 R>>`;
    objects.push(page, `<</Length ${stream.length}>>\nstream\n${stream}\nendstream`);
  }
  let pdf = "%PDF-1.4\n";
  const offsets = objects.map((object, index) => {
    const offset = pdf.length;
    pdf += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return offset;
  });
  const table = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
  const start = pdf.length;
  pdf += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}`;
  pdf += `trailer<</Size ${objects.length + 1}/Root 1 0 R>>\nstartxref\n${start}\n%%EOF\n`;
  return { name: "報告書.pdf", mimeType: "application/pdf", buffer: Buffer.from(pdf, "latin1") };
}
