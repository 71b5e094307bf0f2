//! Sends an export to the client, portion by portion: as it is, or packed into a ZIP archive with several entries.

use std::{
    io::{self, Write},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use chrono::Utc;
use parking_lot::Mutex;
use tokio::{sync::mpsc, time::timeout};
use zip::{
    CompressionMethod, DateTime, ZipWriter,
    result::{ZipError, ZipResult},
    write::{SimpleFileOptions, StreamWriter},
};

/// Timeout for a client to take one portion.
const READER_TIMEOUT: Duration = Duration::from_mins(1);

/// The rest of a file cannot be written: the database failed, the server is shutting down, or the client took too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the export was cut off")]
pub struct ExportAborted;

/// A channel of the portions of a file.
pub(crate) type Sender = mpsc::Sender<Result<Bytes, ExportAborted>>;

/// The destination of an export.
pub(crate) struct Output {
    sender: Sender,
    archive: Option<Box<Archive>>,
}

/// An archive that is being written. Its entries are not compressed: most files are compressed already.
struct Archive {
    zip: ZipWriter<StreamWriter<Buffer>>,
    buffer: Buffer,
}

/// The part of an archive that is not sent yet.
#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Buffer {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock())
    }
}

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Output {
    /// Creates an output that sends portions as they are.
    pub(crate) fn plain(sender: Sender) -> Self {
        Self { sender, archive: None }
    }

    /// Creates an output that packs portions into an archive. The first entry must be begun before the first portion.
    pub(crate) fn archive(sender: Sender) -> Self {
        let buffer = Buffer::default();
        let archive = Archive { zip: ZipWriter::new_stream(buffer.clone()), buffer };
        Self { sender, archive: Some(Box::new(archive)) }
    }

    /// Begins an entry of the archive. Does nothing without an archive.
    pub(crate) fn begin_entry(&mut self, name: &str) -> ZipResult<()> {
        let Some(archive) = &mut self.archive else { return Ok(()) };
        // A conversation can have more than 4 GiB, which the usual headers cannot express.
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
        // Without a time, programs show 1980.
        let exported_at = DateTime::try_from(Utc::now().naive_utc()).unwrap_or_default();
        archive.zip.start_file(name, options.last_modified_time(exported_at))
    }

    /// Sends a portion. Returns `false` if the client stopped reading.
    pub(crate) async fn send(&mut self, part: impl Into<Bytes>) -> ZipResult<bool> {
        let part = part.into();
        let part = match &mut self.archive {
            Some(archive) => {
                archive.zip.write_all(&part).map_err(ZipError::Io)?;
                archive.buffer.take().into()
            }
            None => part,
        };
        Ok(send(&self.sender, part).await)
    }

    /// Sends the end of the archive, if it is one. Returns `false` if the client stopped reading.
    pub(crate) async fn finish(self) -> ZipResult<bool> {
        let Some(archive) = self.archive else { return Ok(true) };
        let buffer = archive.buffer.clone();
        archive.zip.finish()?;
        Ok(send(&self.sender, buffer.take().into()).await)
    }
}

async fn send(sender: &Sender, part: Bytes) -> bool {
    part.is_empty() || matches!(timeout(READER_TIMEOUT, sender.send(Ok(part))).await, Ok(Ok(())))
}

/// Returns the name of an archive's entry for a file: its number, and its name without characters that some systems do
/// not accept in names.
pub(crate) fn entry_name(number: usize, name: &str) -> String {
    let is_refused = |letter: char| letter.is_control() || r#"/\:*?"<>|"#.contains(letter);
    let name: String = name.chars().map(|letter| if is_refused(letter) { '_' } else { letter }).collect();
    format!("files/{number:02}-{}", name.trim_end_matches(['.', ' ']))
}

#[cfg(test)]
mod tests {
    use super::entry_name;

    #[test]
    fn names_of_entries_are_accepted_everywhere() {
        assert_eq!(entry_name(1, "報告書.pdf"), "files/01-報告書.pdf");
        assert_eq!(entry_name(12, "../a\\b:c?.txt. "), "files/12-.._a_b_c_.txt");
    }
}
