//! Writes the files that go with a released program: the licenses of everything compiled into it (`licenses`) and its
//! bill of materials (`sbom`). `parts` finds the crates.

mod font;
mod licenses;
mod parts;
mod sbom;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use clap::Args;
pub(crate) use font::license_file as font_license;

/// The notices of a release.
pub(crate) struct Notices {
    /// Each file's name and content.
    pub(crate) files: Vec<(&'static str, String)>,
    /// The number of crates that they name.
    pub(crate) crates: usize,
}

/// Options of `cargo xtask notices`.
#[derive(Args)]
pub(crate) struct Options {
    /// Folder for the files
    folder: PathBuf,
}

/// Writes the notices to the folder in the options.
pub(crate) fn run(options: &Options) -> Result<()> {
    write(&options.folder)
}

/// Writes the notices to a folder.
pub(crate) fn write(folder: &Path) -> Result<()> {
    let notices = checked()?;
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for (name, content) in notices.files {
        fs::write(folder.join(name), content)?;
    }
    Ok(())
}

/// Returns the notices, or an error if a crate's license does not allow redistribution.
pub(crate) fn checked() -> Result<Notices> {
    let parts = parts::all()?;
    licenses::check(&parts)?;
    let files = vec![
        ("THIRD-PARTY-LICENSES.txt", licenses::list(&parts)?),
        ("tallybook.cdx.json", sbom::write(env!("CARGO_PKG_VERSION"), &parts)?),
    ];
    Ok(Notices { files, crates: parts.len() })
}

/// Returns the licenses of the crates that are compiled into the program and the page.
pub(crate) fn third_party_licenses() -> Result<String> {
    licenses::list(&parts::all()?)
}
