//! Builds documents and images for tests, hostile ones included: PDF, ZIP, Office, PNG, JPEG and GIF files, byte by byte,
//! so that a test can put anything into them.

#![allow(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "writing to memory does not fail, and tests report failures by panics"
)]

use std::io::{Cursor, Write as _};

use flate2::{Compression, Crc, write::ZlibEncoder};
use image::{
    Delay, Frame, RgbaImage,
    codecs::gif::{GifEncoder, Repeat},
};
use zip::{ZipWriter, write::SimpleFileOptions};

/// Resources of a PDF page whose font `F` is Helvetica.
pub const FONT: &str = "/Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>";

const MEBIBYTE: usize = 1024 * 1024;

/// Builds a PDF of these objects, which are numbered from 1. The first one is the catalog.
pub fn pdf(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut file = b"%PDF-1.7\n".to_vec();
    let mut offsets = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        offsets.push(file.len());
        writeln!(file, "{} 0 obj", index + 1).unwrap();
        file.extend(object);
        file.extend(b"\nendobj\n");
    }
    let start = file.len();
    write!(file, "xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).unwrap();
    for offset in offsets {
        writeln!(file, "{offset:010} 00000 n ").unwrap();
    }
    write!(file, "trailer\n<</Size {}/Root 1 0 R>>\nstartxref\n{start}\n%%EOF\n", objects.len() + 1).unwrap();
    file
}

/// Builds a PDF with one page that has this content stream, and these objects from number 5.
pub fn pdf_page(content: &[u8], resources: &str, others: &[Vec<u8>]) -> Vec<u8> {
    let page = format!("<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<<{resources}>>>>");
    let mut objects = vec![
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>".to_vec(),
        page.into_bytes(),
        pdf_stream("", content),
    ];
    objects.extend_from_slice(others);
    pdf(&objects)
}

/// Builds a stream of a PDF with these entries of its dictionary.
pub fn pdf_stream(entries: &str, data: &[u8]) -> Vec<u8> {
    let mut stream = format!("<<{entries}/Length {}>>\nstream\n", data.len()).into_bytes();
    stream.extend(data);
    stream.extend(b"\nendstream");
    stream
}

/// Compresses zeros, or another byte, without holding them in memory.
pub fn deflated(byte: u8, mebibytes: usize) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    let block = vec![byte; MEBIBYTE];
    for _ in 0..mebibytes {
        encoder.write_all(&block).unwrap();
    }
    encoder.finish().unwrap()
}

/// Builds a ZIP container.
pub fn zip(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in parts {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// Builds a Word file with this body, in XML.
pub fn docx(body: &str) -> Vec<u8> {
    let document = format!("<w:document xmlns:w=\"w\"><w:body>{body}</w:body></w:document>");
    zip(&[("[Content_Types].xml", b"<Types/>"), ("word/document.xml", document.as_bytes())])
}

/// Builds a PNG with gray pixels from compressed data.
pub fn png(width: u32, height: u32, bits: u8, color: u8, data: &[u8]) -> Vec<u8> {
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut chunk = |name: &[u8; 4], content: &[u8]| {
        file.extend(u32::try_from(content.len()).unwrap().to_be_bytes());
        let mut crc = Crc::new();
        crc.update(name);
        crc.update(content);
        file.extend(name);
        file.extend(content);
        file.extend(crc.sum().to_be_bytes());
    };
    let mut header = Vec::new();
    header.extend(width.to_be_bytes());
    header.extend(height.to_be_bytes());
    header.extend([bits, color, 0, 0, 0]);
    chunk(b"IHDR", &header);
    chunk(b"IDAT", data);
    chunk(b"IEND", &[]);
    file
}

/// Builds a PDF with this number of pages, each with the text `page`.
pub fn pdf_with_pages(count: usize) -> Vec<u8> {
    let kids: String = (0..count).fold(String::new(), |kids, page| kids + &format!("{} 0 R ", page + 4));
    let mut objects = vec![
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        format!("<</Type/Pages/Kids[{kids}]/Count {count}>>").into_bytes(),
        pdf_stream("", b"BT /F 12 Tf 10 700 Td (page) Tj ET"),
    ];
    let page = format!("<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 3 0 R/Resources<<{FONT}>>>>");
    objects.extend(std::iter::repeat_n(page.into_bytes(), count));
    pdf(&objects)
}

/// Builds an Excel file with one sheet that has these rows, in XML.
pub fn xlsx(rows: &str) -> Vec<u8> {
    let sheet = format!("<worksheet><sheetData>{rows}</sheetData></worksheet>");
    let parts = workbook_parts().map(|(name, content)| (name, content.as_bytes()));
    zip(&[parts.as_slice(), &[("xl/worksheets/sheet1.xml", sheet.as_bytes())]].concat())
}

/// Returns the parts of an Excel file with one sheet, except for the sheet.
fn workbook_parts() -> [(&'static str, &'static str); 3] {
    let workbook = "<workbook xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\"><sheets>\
                    <sheet name=\"Sheet1\" sheetId=\"1\" r:id=\"rId1\"/></sheets></workbook>";
    let relations = "<Relationships><Relationship Id=\"rId1\" \
                     Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet\" \
                     Target=\"worksheets/sheet1.xml\"/></Relationships>";
    let root = "<Relationships><Relationship Id=\"rId1\" Target=\"xl/workbook.xml\" \
                Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument\"/>\
                </Relationships>";
    [("_rels/.rels", root), ("xl/workbook.xml", workbook), ("xl/_rels/workbook.xml.rels", relations)]
}

/// Builds a PDF whose page inflates to this size.
pub fn inflating_pdf(mebibytes: usize) -> Vec<u8> {
    pdf(&[
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>".to_vec(),
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R>>".to_vec(),
        pdf_stream("/Filter/FlateDecode", &deflated(b' ', mebibytes)),
    ])
}

/// Builds a PDF whose content has 50,000 arrays, each in the one before, and no text.
pub fn nested_pdf() -> Vec<u8> {
    let nested = [vec![b'['; 50_000], vec![b']'; 50_000]].concat();
    let resources = format!("/X {} {FONT}", String::from_utf8_lossy(&nested));
    pdf_page(&[nested.as_slice(), b" TJ"].concat(), &resources, &[])
}

/// Builds a Word file whose XML inflates to this size: comments of a mebibyte each.
pub fn inflating_docx(mebibytes: usize) -> Vec<u8> {
    let comment = [b"<!--".as_slice(), &vec![b'0'; MEBIBYTE - 7], b"-->"].concat();
    inflating_zip(&[("[Content_Types].xml", b"<Types/>")], ("word/document.xml", "<w:document>"), &comment, mebibytes)
}

/// Builds an Excel file whose only sheet inflates to this size: one cell with a long text.
pub fn inflating_xlsx(mebibytes: usize) -> Vec<u8> {
    let parts = workbook_parts().map(|(name, content)| (name, content.as_bytes()));
    let begin = "<worksheet><sheetData><row r=\"1\"><c r=\"A1\" t=\"inlineStr\"><is><t>";
    inflating_zip(&parts, ("xl/worksheets/sheet1.xml", begin), &vec![b'0'; MEBIBYTE], mebibytes)
}

/// Builds a ZIP container whose last part begins with `begin` and repeats `block`.
fn inflating_zip(parts: &[(&str, &[u8])], (last, begin): (&str, &str), block: &[u8], count: usize) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in parts {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.start_file(last, SimpleFileOptions::default().large_file(true)).unwrap();
    writer.write_all(begin.as_bytes()).unwrap();
    for _ in 0..count {
        writer.write_all(block).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// Builds a JPEG file from `photo` that also contains an HTML page: in a comment, and after its end.
pub fn jpeg_with_html(photo: &[u8], html: &[u8]) -> Vec<u8> {
    let length = u16::try_from(html.len() + 2).unwrap().to_be_bytes();
    [&photo[..2], &[0xff, 0xfe], &length, html, &photo[2..], html].concat()
}

/// Builds a PNG file of 30,000 × 30,000 pixels that takes less than a megabyte.
pub fn huge_png() -> Vec<u8> {
    png(30_000, 30_000, 8, 0, &deflated(0, 859))
}

/// Builds a GIF file of 64 × 64 pixels with this number of frames. The first one is red, the others are black.
pub fn gif_with_frames(count: u32) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = GifEncoder::new_with_speed(&mut file, 30);
    encoder.set_repeat(Repeat::Infinite).unwrap();
    for frame in 0..count {
        let shade = if frame == 0 { 255 } else { 0 };
        let image = RgbaImage::from_pixel(64, 64, image::Rgba([shade, 0, 0, 255]));
        encoder.encode_frame(Frame::from_parts(image, 0, 0, Delay::from_numer_denom_ms(20, 1))).unwrap();
    }
    drop(encoder);
    file
}
