//! Tests the documents: their relative links lead to files and headings that exist.

#![allow(clippy::unwrap_used, reason = "helpers of tests report failures by panicking, too")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use regex::Regex;

/// Returns all Markdown files of the repository.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    ignore::Walk::new(root)
        .map(|entry| entry.unwrap().into_path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect()
}

/// Returns the anchors of a document's headings, as GitHub forms them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for heading in without_code(text).lines().filter(|line| line.starts_with('#')) {
        let title = heading.trim_start_matches('#').trim().to_lowercase();
        let anchor: String =
            title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).collect::<String>().replace(' ', "-");
        let repeated = (1..).map(|number| format!("{anchor}-{number}"));
        let free = std::iter::once(anchor.clone()).chain(repeated).find(|anchor| !anchors.contains(anchor));
        anchors.extend(free);
    }
    anchors
}

/// Returns the text without its fenced code blocks.
fn without_code(text: &str) -> String {
    let mut is_code = false;
    let is_prose = |line: &&str| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    };
    text.lines().filter(is_prose).flat_map(|line| [line, "\n"]).collect()
}

#[test]
fn relative_links_lead_somewhere() {
    let link = Regex::new(r#"(?:\]\(|(?:src|srcset|href)=")([^)"\s]+)"#).unwrap();
    for path in documents() {
        let text = fs::read_to_string(&path).unwrap();
        for found in link.captures_iter(&without_code(&text)) {
            let target = &found[1];
            if target.contains("://") || target.starts_with("mailto:") || target.starts_with('/') {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            assert!(file.exists(), "{} links to {target}, which does not exist", path.display());
            if !anchor.is_empty() && file.extension().is_some_and(|extension| extension == "md") {
                let anchors = anchors(&fs::read_to_string(&file).unwrap());
                assert!(anchors.contains(anchor), "{} links to {target}, which has no such heading", path.display());
            }
        }
    }
}

#[test]
fn the_index_lists_every_document() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("docs");
    let index = fs::read_to_string(root.join("README.md")).unwrap();
    for path in documents().iter().filter(|path| path.starts_with(&root) && !path.ends_with("docs/README.md")) {
        let relative = path.strip_prefix(&root).unwrap().display().to_string();
        assert!(index.contains(&format!("({relative})")), "docs/README.md does not list {relative}");
    }
}
