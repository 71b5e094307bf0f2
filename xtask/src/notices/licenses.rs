//! Licenses of third-party crates: the allowed ones, and the list that goes with a release.

use std::{collections::BTreeMap, ffi::OsStr, fmt::Write as _, fs, path::Path};

use anyhow::{Context as _, Result, bail, ensure};
use spdx::{Expression, ParseMode};

use super::{font, parts::Part};
use crate::ui::files_below;

/// Licenses that require no more than attribution.
const ALLOWED: [&str; 9] =
    ["Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "ISC", "MIT", "Unicode-3.0", "Unlicense", "Zlib"];

/// Prefixes of the names of license files in a crate.
const FILES: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];

/// Extensions of source files whose names may begin the same.
const NOT_TEXTS: [&str; 6] = ["rs", "c", "h", "json", "py", "toml"];

/// Folders of crates whose contents are not compiled: tests, and what the chosen features do not use.
const NOT_COMPILED: [&str; 7] = ["tests", "test", "testing", "benches", "examples", "fuzz", "sqlcipher"];

/// Returns an error with the names of the crates that have any other license.
pub(super) fn check(parts: &[Part]) -> Result<()> {
    let refused: Vec<_> = parts
        .iter()
        .filter(|part| !is_allowed(&part.license))
        .map(|part| format!("{} {} ({})", part.name, part.version, part.license))
        .collect();
    if !refused.is_empty() {
        bail!("these crates have a license that xtask/src/notices/licenses.rs does not allow: {}", refused.join(", "));
    }
    Ok(())
}

/// An exception, such as LLVM's, only grants more than its license.
fn is_allowed(license: &str) -> bool {
    Expression::parse_mode(license, ParseMode::LAX).is_ok_and(|expression| {
        expression.evaluate(|wanted| wanted.license.id().is_some_and(|id| ALLOWED.contains(&id.name)))
    })
}

/// Returns the license as a canonical SPDX expression; some crates write `MIT/Apache-2.0`.
pub(super) fn canonical(license: &str) -> Result<String> {
    let changed = Expression::canonicalize(license).with_context(|| format!("{license} is not an SPDX expression"))?;
    Ok(changed.unwrap_or_else(|| license.to_owned()))
}

/// Returns the list of crates and the font, followed by each license text once, with the names that it applies to.
pub(super) fn list(parts: &[Part]) -> Result<String> {
    let mut list = "Third-party components of Tallybook, and their licenses.\n\n".to_owned();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for part in parts {
        let who = format!("{} {}", part.name, part.version);
        writeln!(list, "{who}: {} {}", canonical(&part.license)?, part.repository)?;
        for text in texts_of(part)? {
            texts.entry(text).or_default().push(who.clone());
        }
    }
    let who = format!("{} {}", font::NAME, font::VERSION);
    writeln!(list, "{who}: {} {}", font::LICENSE, font::SOURCE)?;
    texts.entry(font::license_text()?).or_default().push(who);
    let mut texts: Vec<_> = texts.into_iter().collect();
    texts.sort_by(|one, other| one.1.cmp(&other.1));
    for (text, whose) in texts {
        write!(list, "\n{}\n{}\n\n{text}\n", "-".repeat(80), whose.join(", "))?;
    }
    Ok(list)
}

/// Returns the license files of the crate (if it has none, the texts of the licenses that its manifest names), and those
/// in its subfolders, which are of code or data that the crate took from elsewhere.
fn texts_of(part: &Part) -> Result<Vec<String>> {
    ensure!(part.folder.is_dir(), "the folder {} does not exist", part.folder.display());
    let (mut texts, mut has_own) = (Vec::new(), false);
    for file in files_below(&part.folder)?.iter().filter(|file| is_license(file, &part.folder)) {
        has_own |= file.parent() == Some(&*part.folder);
        texts.push(String::from_utf8_lossy(&fs::read(file)?).replace("\r\n", "\n").trim().to_owned());
    }
    if !has_own {
        let expression = Expression::parse_mode(&part.license, ParseMode::LAX)
            .with_context(|| format!("{} is not an SPDX expression", part.license))?;
        texts.extend(expression.requirements().filter_map(|one| Some(one.req.license.id()?.text().trim().to_owned())));
    }
    texts.sort_unstable();
    texts.dedup();
    Ok(texts)
}

/// Returns `true` if a file has the license of something in the crate that is compiled.
fn is_license(file: &Path, folder: &Path) -> bool {
    let is_one_of = |name: &OsStr, names: &[&str]| names.iter().any(|other| name.eq_ignore_ascii_case(other));
    let name = file.file_name().map(|name| name.to_string_lossy().to_uppercase()).unwrap_or_default();
    let mut folders = file.strip_prefix(folder).ok().and_then(Path::parent).into_iter().flat_map(Path::iter);
    FILES.iter().any(|begin| name.starts_with(begin))
        && !file.extension().is_some_and(|end| is_one_of(end, &NOT_TEXTS))
        && !folders.any(|inside| is_one_of(inside, &NOT_COMPILED))
}

#[cfg(test)]
mod tests {
    use super::{super::parts, canonical, check, is_allowed, list};

    #[test]
    fn one_allowed_alternative_is_enough_and_an_unknown_license_is_refused() {
        for license in ["MIT", "MIT/Apache-2.0", "GPL-3.0-only OR MIT", "Apache-2.0 WITH LLVM-exception"] {
            assert!(is_allowed(license), "{license}");
        }
        for license in ["", "GPL-3.0-only", "MIT AND AGPL-3.0-only", "LicenseRef-mine", "SomethingNew"] {
            assert!(!is_allowed(license), "{license}");
        }
        assert_eq!(canonical("MIT/Apache-2.0").unwrap(), "MIT OR Apache-2.0");
    }

    #[test]
    fn every_part_of_a_release_is_allowed_and_listed_with_its_license() {
        let parts = parts::all().unwrap();
        check(&parts).unwrap();
        let list = list(&parts).unwrap();
        for part in &parts {
            assert!(list.contains(&format!("\n{} {}: ", part.name, part.version)), "{} is listed", part.name);
        }
        assert!(list.contains("Permission is hereby granted, free of charge"));
        for owner in ["PDFium Authors", "Adobe", "Microsoft Corporation", "Unicode"] {
            assert!(list.contains(owner), "the license of code by {owner} is listed");
        }
        assert!(list.contains("\nSource Serif 4 ") && list.contains("SIL OPEN FONT LICENSE"), "the font is listed");
    }
}
