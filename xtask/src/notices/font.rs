//! The page's font as a part of a release. `frontend/fonts/README.md` says how the file is made.

use std::{fs, path::PathBuf};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::workspace;

pub(super) const NAME: &str = "Source Serif 4";
/// Version of the npm package with the font.
pub(super) const VERSION: &str = "5.3.1";
pub(super) const LICENSE: &str = "OFL-1.1";
pub(super) const SOURCE: &str = "https://github.com/adobe-fonts/source-serif";

/// Returns the file with the font's license.
pub(crate) fn license_file() -> PathBuf {
    workspace::root().join("frontend/fonts/LICENSE.txt")
}

/// Returns the font's license.
pub(super) fn license_text() -> Result<String> {
    let file = license_file();
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(text.trim().to_owned())
}

/// Returns the font's entry in the bill of materials.
pub(super) fn component() -> Value {
    let url = format!("pkg:npm/%40fontsource-variable/source-serif-4@{VERSION}");
    json!({
        "type": "file",
        "bom-ref": url,
        "name": NAME,
        "version": VERSION,
        "supplier": { "name": "Adobe" },
        "purl": url,
        "licenses": [{ "license": { "id": LICENSE } }],
    })
}
