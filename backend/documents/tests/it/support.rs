//! Runs files through real children, and builds PDF, ZIP and PNG files.

use std::{
    io::{Cursor, Seek as _, Write as _},
    path::PathBuf,
};

use flate2::{Compression, Crc, write::ZlibEncoder};
use tallybook_documents::{FileProcessor, ProcessError, ProcessedFile};
use zip::{ZipWriter, write::SimpleFileOptions};

pub(crate) const JAPANESE: &str = "吾輩は猫である。名前はまだ無い。";

pub(crate) fn processor() -> FileProcessor {
    FileProcessor::new(PathBuf::from(env!("CARGO_BIN_EXE_documents-child")))
}

pub(crate) fn fixture(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Reads the bytes as an uploaded file.
pub(crate) async fn process(file: &[u8], name: &str) -> Result<ProcessedFile, ProcessError> {
    process_with(&processor(), file, name).await
}

pub(crate) async fn process_with(
    processor: &FileProcessor,
    file: &[u8],
    name: &str,
) -> Result<ProcessedFile, ProcessError> {
    let mut stored = tempfile::tempfile().unwrap();
    stored.write_all(file).unwrap();
    stored.rewind().unwrap();
    processor.process(stored, name).await.map(|(file, _)| file)
}

/// Reads a fixture, which is readable.
pub(crate) async fn process_fixture(name: &str) -> ProcessedFile {
    process(&fixture(name), name).await.unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the reason for which the file is unreadable.
pub(crate) fn unreadable(result: Result<ProcessedFile, ProcessError>) -> String {
    match result {
        Err(ProcessError::Unreadable { reason }) => reason,
        other => panic!("the file should be unreadable: {other:?}"),
    }
}

/// Returns the recognized content of an unsupported file.
pub(crate) fn unsupported(result: Result<ProcessedFile, ProcessError>) -> String {
    match result {
        Err(ProcessError::UnsupportedType { found }) => found,
        other => panic!("the file should be unsupported: {other:?}"),
    }
}

/// Builds a PDF of these objects, which are numbered from 1. The first one is the catalog.
pub(crate) fn pdf(objects: &[Vec<u8>]) -> Vec<u8> {
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
pub(crate) fn pdf_page(content: &[u8], resources: &str, others: &[Vec<u8>]) -> Vec<u8> {
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

pub(crate) fn pdf_stream(entries: &str, data: &[u8]) -> Vec<u8> {
    let mut stream = format!("<<{entries}/Length {}>>\nstream\n", data.len()).into_bytes();
    stream.extend(data);
    stream.extend(b"\nendstream");
    stream
}

/// Compresses zeros, or another byte, without holding them in memory.
pub(crate) fn deflated(byte: u8, mebibytes: usize) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    let block = vec![byte; 1024 * 1024];
    for _ in 0..mebibytes {
        encoder.write_all(&block).unwrap();
    }
    encoder.finish().unwrap()
}

/// Builds a ZIP container.
pub(crate) fn zip(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in parts {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

pub(crate) fn docx(body: &str) -> Vec<u8> {
    let document = format!("<w:document xmlns:w=\"w\"><w:body>{body}</w:body></w:document>");
    zip(&[("[Content_Types].xml", b"<Types/>"), ("word/document.xml", document.as_bytes())])
}

/// Builds a PNG with gray pixels from compressed data.
pub(crate) fn png(width: u32, height: u32, bits: u8, color: u8, data: &[u8]) -> Vec<u8> {
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
