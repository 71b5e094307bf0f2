//! The child's side: confines the process, reads one file from standard input, and writes the answer to standard
//! output. `processor` has the parent's side.

use std::{
    io::{Read as _, Write as _},
    panic::{AssertUnwindSafe, catch_unwind},
    process::ExitCode,
    thread,
};

use crate::{
    FileKind, ProcessedFile, Refusal,
    confine::confine,
    document,
    frame::{self, Answer},
    html, image,
    limits::{MAX_FILE_BYTES, STACK_BYTES},
    pdf,
    recognize::{Content, recognize},
    sheets, text,
};

/// Reads the file on standard input and writes the answer to standard output. `main` of the program calls this as its
/// first action when it is started with [`CHILD_COMMAND`](crate::CHILD_COMMAND), before it starts threads or opens
/// files.
///
/// Fails if the process cannot be confined or the answer not written.
pub fn run_child() -> ExitCode {
    // The default hook prints; the parent does not read standard error.
    std::panic::set_hook(Box::new(|_| {}));
    // Deeply nested files need more stack than the main thread may have. The thread starts before the confinement,
    // which then forbids new ones.
    let reader = thread::Builder::new().stack_size(STACK_BYTES).spawn(answer);
    match reader.map(thread::JoinHandle::join) {
        Ok(Ok(Some(()))) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn answer() -> Option<()> {
    let confinement = confine().ok()?;
    let frame = frame::encode(Answer { confinement, result: read_input() }).ok()?;
    let mut output = std::io::stdout();
    output.write_all(&frame).ok()?;
    output.flush().ok()
}

fn read_input() -> Result<ProcessedFile, Refusal> {
    let mut file = Vec::new();
    let length = std::io::stdin().take(MAX_FILE_BYTES + 1).read_to_end(&mut file);
    if length.map_err(|_| Refusal::unreadable("the file could not be read"))? as u64 > MAX_FILE_BYTES {
        return Err(Refusal::unreadable(format!("the file is larger than {} MiB", MAX_FILE_BYTES / 1024 / 1024)));
    }
    // The libraries are meant not to panic, but this does not depend on it.
    catch_unwind(AssertUnwindSafe(|| process(file)))
        .unwrap_or_else(|_| Err(Refusal::unreadable("the file is damaged or unusually built")))
}

/// Recognizes and reads the file.
fn process(file: Vec<u8>) -> Result<ProcessedFile, Refusal> {
    let content = recognize(&file)?;
    let media_type = content.media_type().to_owned();
    let (kind, pages) = match content {
        Content::Image(format) => {
            let image = Some(image::prepare(&file, format)?);
            let kind = FileKind::Image;
            return Ok(ProcessedFile { kind, media_type, pages: Vec::new(), has_text: false, truncated: false, image });
        }
        Content::Pdf => (FileKind::Document, pdf::read(file)?),
        Content::Html(html) => (FileKind::Document, html::read(&html)),
        Content::Text(text) => (FileKind::Text, text::read(&text)),
        Content::Xlsx => (FileKind::Document, sheets::read_xlsx(&file)?),
        Content::Packed(format) => (FileKind::Document, document::read(&file, format)?),
    };
    let has_text = pages.has_text();
    Ok(ProcessedFile { kind, media_type, has_text, truncated: pages.truncated, pages: pages.texts, image: None })
}
