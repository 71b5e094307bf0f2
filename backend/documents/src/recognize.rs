//! Recognizes a file's format by its content.

use image::ImageFormat;

use crate::{Refusal, document, text, zip::Package};

/// Maximum number of bytes before the header of a PDF.
const MAX_PDF_PREFIX: usize = 1024;

/// Format of a file that can be read.
pub(crate) enum Content {
    Image(ImageFormat),
    Pdf,
    Xlsx,
    /// Other documents in a ZIP container.
    Packed(document::Format),
    /// The decoded file.
    Html(String),
    /// The decoded file.
    Text(String),
}

impl Content {
    /// Returns the media type. The file's name decides between kinds of text.
    pub(crate) fn media_type(&self) -> &'static str {
        match self {
            Self::Image(format) => format.to_mime_type(),
            Self::Pdf => "application/pdf",
            Self::Xlsx => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            Self::Packed(format) => format.media_type(),
            Self::Html(_) => "text/html",
            Self::Text(_) => "text/plain",
        }
    }
}

/// Recognizes the file. A file that fits several formats has the one whose mark is at its very beginning.
pub(crate) fn recognize(file: &[u8]) -> Result<Content, Refusal> {
    if file.is_empty() {
        return Err(Refusal::unreadable("the file is empty"));
    }
    if let Some(format) = image_format(file) {
        return Ok(Content::Image(format));
    }
    if file.trim_ascii_start().starts_with(b"%PDF-") {
        return Ok(Content::Pdf);
    }
    if file.starts_with(b"PK\x03\x04") || file.starts_with(b"PK\x05\x06") {
        return recognize_package(file);
    }
    if file.starts_with(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1") {
        return Err(recognize_compound(file));
    }
    if let Some(text) = text::decode(file, text::declared_in_html(file)) {
        return Ok(if is_html(&text) { Content::Html(text) } else { Content::Text(text) });
    }
    let beginning = &file[..file.len().min(MAX_PDF_PREFIX)];
    if beginning.windows(5).any(|window| window == b"%PDF-") {
        return Ok(Content::Pdf);
    }
    Err(Refusal::unsupported(name_unsupported(file)))
}

fn image_format(file: &[u8]) -> Option<ImageFormat> {
    match file {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(ImageFormat::Png),
        [0xff, 0xd8, 0xff, ..] => Some(ImageFormat::Jpeg),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(ImageFormat::Gif),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(ImageFormat::WebP),
        _ => None,
    }
}

/// Office files have parts of fixed names; OpenDocument files have their media type in a part of its own.
fn recognize_package(file: &[u8]) -> Result<Content, Refusal> {
    let mut package = Package::open(file)?;
    if package.has("word/document.xml") {
        return Ok(Content::Packed(document::Format::Docx));
    }
    if package.has("xl/workbook.xml") {
        return Ok(Content::Xlsx);
    }
    if package.has("ppt/presentation.xml") {
        return Ok(Content::Packed(document::Format::Pptx));
    }
    let media_type = package.beginning("mimetype", 100)?;
    let formats = [document::Format::Odt, document::Format::Ods, document::Format::Odp];
    let format = formats.into_iter().find(|format| format.media_type().as_bytes() == media_type.trim_ascii());
    let format = format.ok_or_else(|| Refusal::unsupported("a ZIP archive"))?;
    if is_encrypted(&package.beginning("META-INF/manifest.xml", 1024 * 1024)?) {
        return Err(Refusal::unreadable("the file is protected by a password"));
    }
    Ok(Content::Packed(format))
}

/// The manifest of an encrypted OpenDocument file has the keys of its parts.
fn is_encrypted(manifest: &[u8]) -> bool {
    String::from_utf8_lossy(manifest).contains("encryption-data")
}

/// The old binary Office formats, and the container in which Office encrypts its files. Names of streams are UTF-16.
fn recognize_compound(file: &[u8]) -> Refusal {
    let name: Vec<u8> = "EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes).collect();
    if file.windows(name.len()).any(|window| window == name) {
        Refusal::unreadable("the file is protected by a password")
    } else {
        Refusal::unsupported("a file of an old Office format, such as .doc or .xls; save it as .docx, .xlsx or .pptx")
    }
}

/// Whether the document begins as a complete HTML page. Markdown files often contain elements of HTML, too.
fn is_html(text: &str) -> bool {
    let mut rest = text.trim_start();
    // A page may begin with comments, and XHTML with a declaration.
    loop {
        let end = if rest.starts_with("<!--") {
            "-->"
        } else if rest.starts_with("<?xml") {
            "?>"
        } else {
            break;
        };
        let Some((_, after)) = rest.split_once(end) else { return false };
        rest = after.trim_start();
    }
    ["<!doctype html", "<html", "<head", "<body"].into_iter().any(|mark| {
        rest.get(..mark.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(mark))
            && rest[mark.len()..].starts_with(|next: char| next == '>' || next.is_whitespace())
    })
}

/// Names common formats, so that the user knows what was uploaded.
fn name_unsupported(file: &[u8]) -> &'static str {
    match file {
        [_, _, _, _, b'f', b't', b'y', b'p', b'h', b'e' | b'i', b'i' | b'c' | b'f' | b'm', ..]
        | [_, _, _, _, b'f', b't', b'y', b'p', b'm', b'i', b'f', b'1', ..] => "a HEIC image; save it as JPEG",
        [_, _, _, _, b'f', b't', b'y', b'p', b'a', b'v', b'i', b'f', ..] => "an AVIF image; save it as JPEG or PNG",
        [_, _, _, _, b'f', b't', b'y', b'p', ..] | [0x1a, 0x45, 0xdf, 0xa3, ..] => "a video or audio file",
        [b'I', b'I', 0x2a, 0, ..] | [b'M', b'M', 0, 0x2a, ..] => "a TIFF image; save it as JPEG or PNG",
        [b'B', b'M', ..] => "a BMP image or binary data; save an image as PNG",
        [b'I', b'D', b'3', ..] | [b'O', b'g', b'g', b'S', ..] | [b'f', b'L', b'a', b'C', ..] => "an audio file",
        [0x1f, 0x8b, ..]
        | [b'B', b'Z', b'h', ..]
        | [0xfd, b'7', b'z', ..]
        | [b'7', b'z', 0xbc, ..]
        | [b'R', b'a', b'r', b'!', ..] => "a compressed archive",
        [0x7f, b'E', b'L', b'F', ..] | [b'M', b'Z', ..] => "a program",
        _ => "binary data of an unknown format",
    }
}

#[cfg(test)]
mod tests {
    use super::is_html;

    #[test]
    fn only_complete_pages_are_html() {
        for html in [
            "<!DOCTYPE html>\n<p>",
            "\n<html lang=ja>",
            "<!-- a --><!-- b -->\n<!doctype HTML PUBLIC \"\">",
            "<?xml version=\"1.0\"?>\n<!DOCTYPE html PUBLIC \"\"><html>",
        ] {
            assert!(is_html(html), "{html}");
        }
        for text in ["<p align=center>", "# Markdown <html>", "<svg/>", "<!-- open", "<htmlx>", "<heading>", ""] {
            assert!(!is_html(text), "{text}");
        }
    }
}
