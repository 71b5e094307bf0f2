//! Notes about the inputs of a result, so that unchanged work is skipped.

use std::{fs, path::Path, time::UNIX_EPOCH};

use anyhow::{Context as _, Result};

/// Describes files by name, size, and modification time. `how` says how they were used.
pub(crate) fn of(how: &str, files: &[&Path]) -> Result<String> {
    let mut lines = vec![how.to_owned()];
    for file in files {
        let data = fs::metadata(file).with_context(|| format!("cannot read {}", file.display()))?;
        let changed = data.modified()?.duration_since(UNIX_EPOCH)?.as_nanos();
        lines.push(format!("{} {} {changed}", file.display(), data.len()));
    }
    Ok(lines.join("\n"))
}

/// Returns `true` if `note` has exactly this text.
pub(crate) fn matches(note: &Path, fingerprint: &str) -> bool {
    fs::read_to_string(note).is_ok_and(|text| text == fingerprint)
}

/// Writes the note, after the work is done.
pub(crate) fn write(note: &Path, fingerprint: &str) -> Result<()> {
    fs::write(note, fingerprint).with_context(|| format!("cannot write {}", note.display()))
}
