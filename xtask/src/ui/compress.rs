//! Compresses the page's files once at build time, instead of for each visitor: with Brotli, which every browser
//! supports, and with gzip for other clients.

use std::{
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};
use brotli::enc::BrotliEncoderParams;
use flate2::{Compression, write::GzEncoder};

/// The budget of a first visit. The page must load at once on a slow connection, too.
pub(crate) struct Budget {
    /// The page that the visit begins with.
    page: &'static str,
    /// Assumed size of the document, which the server renders, in compressed bytes.
    document: u64,
    /// Maximum total size of the document and the files that it loads, in compressed bytes.
    limit: u64,
}

pub(crate) const NEW_CHAT: Budget = Budget { page: "a new chat", document: 10_000, limit: 320_000 };

/// A conversation of 20 messages, which the user reads.
pub(crate) const CONVERSATION: Budget = Budget { page: "a conversation", document: 15_000, limit: 320_000 };

/// That conversation once the user presses something in it or writes.
pub(crate) const USED_CONVERSATION: Budget =
    Budget { page: "a conversation that is used", document: 15_000, limit: 660_000 };

/// File extensions of the compressed forms; the server has the same list.
const ENDS: [&str; 2] = ["br", "gz"];

/// Writes the compressed forms of files that lack them or have changed since. A font is compressed already.
pub(crate) fn all(files: &[PathBuf]) -> Result<()> {
    for file in files.iter().filter(|file| !is_compressed(file)) {
        let content = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        for end in ENDS {
            let form = form(file, end);
            if is_newer(&form, file) {
                continue;
            }
            let compressed = if end == "br" { brotli(&content) } else { gzip(&content) };
            compressed
                .and_then(|compressed| fs::write(&form, compressed))
                .with_context(|| format!("cannot write {}", form.display()))?;
        }
    }
    Ok(())
}

/// Removes the compressed forms. A quick build has none, and the server would serve old ones.
pub(crate) fn none(files: &[PathBuf]) -> Result<()> {
    for form in files.iter().flat_map(|file| ENDS.map(|end| form(file, end))) {
        match fs::remove_file(&form) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot remove {}", form.display()));
            }
            _ => {}
        }
    }
    Ok(())
}

impl Budget {
    /// Returns the size of a first visit that loads these files, in compressed bytes and with the document.
    pub(crate) fn loaded(&self, files: &[PathBuf]) -> Result<u64> {
        let sizes = files.iter().map(|file| {
            let form = if is_compressed(file) { file.clone() } else { form(file, "br") };
            fs::metadata(&form).map(|data| data.len()).with_context(|| format!("cannot read {}", form.display()))
        });
        sizes.sum::<Result<u64>>().map(|sum| sum + self.document)
    }

    /// Describes the size of the first visit.
    pub(crate) fn describe(&self, bytes: u64) -> String {
        let [loaded, limit] = [bytes, self.limit].map(|bytes| bytes.div_ceil(1000));
        format!("a first visit to {} loads {loaded} KB, compressed; it should be at most {limit} KB", self.page)
    }

    /// Returns an error if the first visit is too large.
    pub(crate) fn check(&self, bytes: u64) -> Result<()> {
        ensure!(
            bytes <= self.limit,
            "{}. Draw with `lazy` (frontend/src/components/lazy.rs) what the page does without, put its style into \
             frontend/style/lazy, or leave it out",
            self.describe(bytes)
        );
        Ok(())
    }
}

/// Returns `true` if a file is a compressed form of another.
pub(crate) fn is_form(file: &Path) -> bool {
    file.extension().is_some_and(|end| ENDS.iter().any(|form| end == *form))
}

/// Returns `true` if a file's own format is compressed.
fn is_compressed(file: &Path) -> bool {
    file.extension().is_some_and(|end| end == "woff2")
}

fn form(file: &Path, end: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".");
    name.push(end);
    name.into()
}

fn is_newer(form: &Path, file: &Path) -> bool {
    let changed = |file: &Path| fs::metadata(file).and_then(|data| data.modified());
    matches!((changed(form), changed(file)), (Ok(form), Ok(file)) if form > file)
}

fn brotli(content: &[u8]) -> io::Result<Vec<u8>> {
    let params = BrotliEncoderParams { quality: 11, lgwin: 24, size_hint: content.len(), ..Default::default() };
    let mut compressed = Vec::new();
    brotli::BrotliCompress(&mut &*content, &mut compressed, &params)?;
    Ok(compressed)
}

fn gzip(content: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use std::{io::Read as _, slice};

    use super::*;

    #[test]
    fn compressed_forms_have_the_same_content_and_are_removed() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("page.css");
        let content = "p { margin: 0 }\n".repeat(100);
        fs::write(&file, &content)?;
        all(slice::from_ref(&file))?;

        let mut unpacked = String::new();
        brotli::Decompressor::new(&*fs::read(form(&file, "br"))?, 4096).read_to_string(&mut unpacked)?;
        assert_eq!(unpacked, content);
        unpacked.clear();
        flate2::read::GzDecoder::new(&*fs::read(form(&file, "gz"))?).read_to_string(&mut unpacked)?;
        assert_eq!(unpacked, content);
        assert!(fs::metadata(form(&file, "br"))?.len() < 100);

        none(slice::from_ref(&file))?;
        assert_eq!(fs::read_dir(folder.path())?.count(), 1, "the file itself stays");
        none(&[file])
    }

    #[test]
    fn a_page_that_is_too_large_is_not_released() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("page.wasm");
        for (bytes, too_much) in [(200_000, false), (310_000, false), (310_001, true)] {
            fs::write(form(&file, "br"), vec![0; bytes])?;
            let checked = NEW_CHAT.check(NEW_CHAT.loaded(slice::from_ref(&file))?);
            assert_eq!(checked.is_err(), too_much, "{checked:?}");
            if let Err(error) = checked {
                assert!(error.to_string().starts_with("a first visit to a new chat loads 321 KB"), "{error}");
            }
        }
        Ok(())
    }
}
