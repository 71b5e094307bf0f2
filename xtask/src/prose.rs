//! Checks the prose of the project: documents, comments, texts for people, and names of functions.
//!
//! The rules keep out phrases that a reader must decode, such as clauses without a noun and private words for things
//! that have names. CONTRIBUTING.md says how to write instead. A comment with `prose-ok:` and a reason allows findings
//! in its own line and in the next one.

mod rules;
mod texts;

use std::fs;

use anyhow::{Context as _, Result, ensure};
use ignore::WalkBuilder;

use self::{
    rules::{Finding, Rules},
    texts::Kind,
};
use crate::workspace;

/// Marks an allowed finding. A reason follows.
const ALLOWED: &str = "prose-ok:";

/// Paths that are not checked. Applied migrations never change.
const EXCLUDED: [&str; 3] = ["migrations/", "LICENSE", "xtask/src/prose"];

/// Returns the number of files, or an error that lists the findings.
pub(crate) fn check() -> Result<usize> {
    let root = workspace::root();
    let rules = Rules::compile()?;
    let (mut files, mut found) = (0, Vec::new());
    // Skips what `.gitignore` names, such as build results.
    let walk = WalkBuilder::new(&root).hidden(false).require_git(false).sort_by_file_path(Ord::cmp).build();
    for entry in walk {
        let entry = entry.context("cannot list the project's files")?;
        let path = entry.path().strip_prefix(&root).unwrap_or(entry.path()).to_string_lossy().replace('\\', "/");
        if path.starts_with(".git/") || EXCLUDED.iter().any(|excluded| path.starts_with(excluded)) {
            continue;
        }
        let Some(kind) = Kind::of(&path).filter(|_| entry.file_type().is_some_and(|kind| kind.is_file())) else {
            continue;
        };
        let text = fs::read_to_string(entry.path()).with_context(|| format!("cannot read {path}"))?;
        files += 1;
        found.extend(find(&rules, kind, &text).into_iter().map(|finding| format!("{path}:{finding}")));
    }
    ensure!(found.is_empty(), "these phrases are hard to read:\n{}", found.join("\n"));
    Ok(files)
}

/// Returns the findings in a file that no comment allows.
fn find(rules: &Rules, kind: Kind, file: &str) -> Vec<Finding> {
    let allowed: Vec<bool> = file.lines().map(is_allowed).collect();
    let allows =
        |line: usize| [line, line.saturating_sub(1)].iter().any(|&n| n > 0 && allowed.get(n - 1) == Some(&true));
    let mut found: Vec<Finding> = texts::of(kind, file).iter().flat_map(|text| rules.find(text)).collect();
    found.retain(|finding| !allows(finding.line));
    found.sort_by_key(|finding| finding.line);
    found.dedup_by(|later, earlier| later.line == earlier.line && later.phrase == earlier.phrase);
    found
}

/// Returns `true` if the line allows findings and gives a reason.
fn is_allowed(line: &str) -> bool {
    line.split_once(ALLOWED).is_some_and(|(_, reason)| reason.trim_end_matches("-->").trim().len() >= 5)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phrases(path: &str, file: &str) -> Vec<(usize, String)> {
        let rules = Rules::compile().unwrap();
        let found = find(&rules, Kind::of(path).unwrap(), file);
        found.into_iter().map(|finding| (finding.line, finding.phrase)).collect()
    }

    #[test]
    fn finds_a_phrase_in_comments_documents_texts_and_names() {
        let found = |path, file| phrases(path, file).len();
        assert_eq!(found("a.rs", "// Whoever asks is answered."), 1);
        assert_eq!(found("a.rs", "let whoever = 1;"), 0, "code is not prose");
        assert_eq!(found("a.rs", "let text = \"Nobody may read this.\";"), 1);
        assert_eq!(found("a.rs", "fn nobody_may_read_this() {}"), 1);
        assert_eq!(found("a.md", "The answer goes on later."), 1);
        assert_eq!(found("a.ts", "test('a turn goes on after a restart', async () => {"), 1);
        assert_eq!(found("a.sql", "-- what came of it"), 1);
        assert_eq!(found("frontend/src/i18n/a.rs", "share: \"LazyChunks messages are not included.\""), 1);
        assert_eq!(found("frontend/src/i18n/a.rs", "share: \"Turn on JavaScript to send messages.\""), 0);
        assert_eq!(found("frontend/src/a.rs", "let text = \"LazyChunks are not here.\";"), 0);
        assert_eq!(found("a.md", "The server resumes the turn after a restart."), 0);
    }

    #[test]
    fn finds_a_phrase_that_is_wrapped() {
        let file =
            "//! Resumes turns.\n\n/// Resumes a turn. An answer that is cut off goes\n/// on later.\nfn resume() {}\n";
        assert_eq!(phrases("a.rs", file), [(3, "goes on".to_owned())]);
    }

    #[test]
    fn checks_how_a_header_and_a_doc_comment_begin() {
        assert_eq!(phrases("a.rs", "//! What ends a turn.\n")[0].0, 1);
        assert_eq!(phrases("a.rs", "//! Ends turns.\n\n/// Whether it has ended.\n")[0].0, 3);
        let second = "//! Ends turns: by a timeout.\n//! What else ends turns is in `stop`.\n";
        assert_eq!(phrases("a.rs", second), [], "only the first line is a header");
    }

    #[test]
    fn a_reason_allows_a_finding() {
        assert_eq!(phrases("a.rs", "// prose-ok: a quoted title\n// Nobody"), []);
        assert_eq!(phrases("a.md", "Nobody <!-- prose-ok: a quoted title -->"), []);
        assert_eq!(phrases("a.rs", "// prose-ok:\n// Nobody").len(), 1, "without a reason");
        assert_eq!(phrases("a.rs", "// prose-ok: a quoted title\n\n// Nobody").len(), 1, "further below");
    }
}
