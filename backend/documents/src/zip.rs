//! Reads the parts of a ZIP container, which Office and OpenDocument files are, with a bound on what is unpacked.

use std::io::{self, BufReader, Cursor, Read};

use zip::{ZipArchive, result::ZipError};

use crate::{
    Refusal,
    limits::{MAX_PARTS, MAX_UNPACKED_BYTES},
};

/// An open container.
pub(crate) struct Package<'a> {
    archive: ZipArchive<Cursor<&'a [u8]>>,
    /// Bytes that may still be unpacked.
    room: u64,
}

impl<'a> Package<'a> {
    pub(crate) fn open(file: &'a [u8]) -> Result<Self, Refusal> {
        let archive = ZipArchive::new(Cursor::new(file)).map_err(|_| {
            Refusal::unreadable("the file is cut off or damaged: its ZIP container has no valid directory")
        })?;
        if archive.len() > MAX_PARTS {
            return Err(Refusal::unreadable(format!("the file is too complex: it has more than {MAX_PARTS} parts")));
        }
        Ok(Self { archive, room: MAX_UNPACKED_BYTES })
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.archive.index_for_name(name).is_some()
    }

    /// Opens a part. Returns `None` if there is none with this name.
    pub(crate) fn part(&mut self, name: &str) -> Result<Option<BufReader<impl Read>>, Refusal> {
        match self.archive.by_name(name) {
            Ok(part) if part.encrypted() => Err(Refusal::unreadable("the file is protected by a password")),
            Ok(part) => Ok(Some(BufReader::new(Bounded { part, room: &mut self.room }))),
            Err(ZipError::FileNotFound) => Ok(None),
            Err(_) => Err(Refusal::unreadable("the file is damaged: a part of its ZIP container cannot be read")),
        }
    }

    /// Returns the beginning of a small part.
    pub(crate) fn beginning(&mut self, name: &str, bytes: u64) -> Result<Vec<u8>, Refusal> {
        let mut beginning = Vec::new();
        if let Some(part) = self.part(name)? {
            part.take(bytes).read_to_end(&mut beginning).map_err(|error| damaged(&error))?;
        }
        Ok(beginning)
    }
}

/// Describes an error while a part is read.
pub(crate) fn damaged(error: &io::Error) -> Refusal {
    if error.kind() == io::ErrorKind::FileTooLarge {
        let unpacked = MAX_UNPACKED_BYTES / 1024 / 1024;
        Refusal::unreadable(format!("the file is too large: unpacked, its text takes more than {unpacked} MiB"))
    } else {
        Refusal::unreadable("the file is damaged: a part of it cannot be unpacked")
    }
}

/// Counts what is unpacked.
struct Bounded<'a, R> {
    part: R,
    room: &'a mut u64,
}

impl<R: Read> Read for Bounded<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.part.read(buffer)?;
        *self.room = self.room.checked_sub(read as u64).ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(read)
    }
}
