//! Prepares the page's files other than WASM: the style sheets and the static files; and moves all files to their
//! place.
//!
//! A server may be reading a file while it is replaced. So each file is written next to its place and then renamed.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};

use super::{compress, minify::minify};
use crate::workspace;

/// Style sheet of a new chat.
pub(crate) const STYLE: &str = "tallybook.css";

/// Style sheet of everything else, which a first visit does not need.
pub(crate) const LAZY_STYLE: &str = "lazy.css";

/// Style sheet of the pages without the page's program: sign-in, API, tool history.
pub(crate) const DOCUMENT_STYLE: &str = "documents.css";

/// Font of headings and figures.
pub(crate) const FONT: &str = "serif.woff2";

/// Copies the style sheets, the font and the static files to the site.
pub(crate) fn copy_all(site: &Path) -> Result<()> {
    let frontend = workspace::root().join("frontend");
    let public = frontend.join("public");
    for file in files_below(&public)? {
        let place = site.join(file.strip_prefix(&public)?);
        replace(&place, &read(&file)?)?;
    }
    let style = frontend.join("style");
    replace(&site.join("pkg").join(STYLE), &joined_style(&style)?)?;
    replace(&site.join("pkg").join(LAZY_STYLE), &joined_style(&style.join("lazy"))?)?;
    replace(&site.join("pkg").join(DOCUMENT_STYLE), &joined_style(&style.join("documents"))?)?;
    // Beside the style sheets, where its address changes with its content.
    replace(&site.join("pkg").join(FONT), &read(&frontend.join("fonts").join(FONT))?)
}

/// Creates an empty folder.
pub(crate) fn empty(folder: &Path) -> Result<()> {
    let removed = match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    removed.and_then(|()| fs::create_dir_all(folder)).with_context(|| format!("cannot empty {}", folder.display()))
}

/// Moves every file of one folder to the same path in another.
pub(crate) fn move_all(from: &Path, to: &Path) -> Result<()> {
    for file in files_below(from)? {
        let place = to.join(file.strip_prefix(from)?);
        make_parent(&place)?;
        fs::rename(&file, &place).with_context(|| format!("cannot replace {}", place.display()))?;
    }
    Ok(())
}

/// Removes all files from a folder except those with these names and their compressed forms. Otherwise the server would
/// also serve files of older builds.
pub(crate) fn keep_only(folder: &Path, names: &[String]) -> Result<()> {
    for file in files_below(folder)? {
        let name = if compress::is_form(&file) { file.file_stem() } else { file.file_name() };
        if !names.iter().any(|kept| name == Some(kept.as_ref())) {
            fs::remove_file(&file).with_context(|| format!("cannot remove {}", file.display()))?;
        }
    }
    Ok(())
}

/// Returns the files of the site, without their compressed forms.
pub(crate) fn files(site: &Path) -> Result<Vec<PathBuf>> {
    let mut files = files_below(site)?;
    files.retain(|file| !compress::is_form(file));
    Ok(files)
}

/// Returns a file's name and size: `tallybook.js 34 KB`.
pub(crate) fn describe(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let bytes = fs::metadata(file).map_or(0, |data| data.len());
    format!("{name} {} KB", bytes.div_ceil(1000))
}

/// Concatenates the style sheets of a folder in the order of their names, without those in subfolders, comments and
/// superfluous spaces.
fn joined_style(folder: &Path) -> Result<Vec<u8>> {
    let is_style = |file: &&PathBuf| file.parent() == Some(folder) && file.extension().is_some_and(|end| end == "css");
    let mut style = String::new();
    for file in files_below(folder)?.iter().filter(is_style) {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        style.push_str(&minify(&text));
        style.push('\n');
    }
    Ok(style.into_bytes())
}

/// Returns all files in a folder and its subfolders, sorted; empty if the folder does not exist.
pub(crate) fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("cannot read the folder {}", folder.display())),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(files_below(&path)?);
        } else {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Writes a file atomically. Does nothing if the file has this content, so that its modification time stays correct.
pub(super) fn replace(place: &Path, content: &[u8]) -> Result<()> {
    if fs::read(place).is_ok_and(|old| old == content) {
        return Ok(());
    }
    make_parent(place)?;
    let mut beside = place.as_os_str().to_owned();
    beside.push(".new");
    fs::write(&beside, content)
        .and_then(|()| fs::rename(&beside, place))
        .with_context(|| format!("cannot write {}", place.display()))
}

fn make_parent(place: &Path) -> Result<()> {
    let folder = place.parent().unwrap_or(place);
    fs::create_dir_all(folder).with_context(|| format!("cannot create the folder {}", folder.display()))
}

fn read(file: &Path) -> Result<Vec<u8>> {
    fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn style_sheets_are_joined_in_the_order_of_their_names() -> Result<()> {
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("20-page.css"), "b {}")?;
        fs::write(folder.path().join("10-base.css"), "a {}")?;
        fs::write(folder.path().join("notes.txt"), "not a style")?;
        fs::create_dir(folder.path().join("lazy"))?;
        fs::write(folder.path().join("lazy/00-others.css"), "c {}")?;
        assert_eq!(joined_style(folder.path())?, b"a{}\nb{}\n");
        Ok(())
    }

    #[test]
    fn a_moved_folder_keeps_its_structure_and_replaces_existing_files() -> Result<()> {
        let (from, to) = (tempfile::tempdir()?, tempfile::tempdir()?);
        fs::create_dir(from.path().join("snippets"))?;
        fs::write(from.path().join("snippets/a.js"), "new")?;
        fs::create_dir(to.path().join("snippets"))?;
        fs::write(to.path().join("snippets/a.js"), "old")?;
        move_all(from.path(), to.path())?;
        assert_eq!(fs::read_to_string(to.path().join("snippets/a.js"))?, "new");
        Ok(())
    }

    #[test]
    fn files_of_older_builds_are_removed() -> Result<()> {
        let folder = tempfile::tempdir()?;
        for name in ["page.js", "page.js.br", "old.js", "old.js.gz"] {
            fs::write(folder.path().join(name), "")?;
        }
        keep_only(folder.path(), &["page.js".to_owned()])?;
        let left: Vec<_> =
            files_below(folder.path())?.iter().map(|file| file.file_name().map(ToOwned::to_owned)).collect();
        assert_eq!(left, [Some("page.js".into()), Some("page.js.br".into())]);
        Ok(())
    }

    #[test]
    fn an_unchanged_file_is_not_written() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("deep/er/file");
        replace(&file, b"same")?;
        let before = fs::metadata(&file)?.modified()?;
        replace(&file, b"same")?;
        assert_eq!(fs::metadata(&file)?.modified()?, before);
        replace(&file, b"other")?;
        assert_eq!(fs::read(&file)?, b"other");
        Ok(())
    }
}
