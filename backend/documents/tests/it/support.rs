//! Runs files through real children.

use std::{
    io::{Seek as _, Write as _},
    path::PathBuf,
};

use tallybook_documents::{FileProcessor, ProcessError, ProcessedFile};
use tallybook_mock_files::{pdf_page, pdf_stream};

pub(crate) const JAPANESE: &str = "吾輩は猫である。名前はまだ無い。";

pub(crate) fn processor() -> FileProcessor {
    FileProcessor::new(PathBuf::from(env!("CARGO_BIN_EXE_documents-child")))
}

pub(crate) fn fixture(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Builds a PDF that takes years to read: ten forms, each of which draws the next one fifty times.
pub(crate) fn endless_pdf() -> Vec<u8> {
    let forms: Vec<_> = (0..10)
        .map(|level| {
            let next = format!("/Resources<</XObject<</X {} 0 R>>>>", 6 + level);
            pdf_stream(&format!("/Type/XObject/Subtype/Form/BBox[0 0 9 9]{next}"), "/X Do ".repeat(50).as_bytes())
        })
        .collect();
    pdf_page(b"/X Do", "/XObject<</X 5 0 R>>", &forms)
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
