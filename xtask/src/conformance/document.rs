//! Writes the results to the document. It has a table under a heading for each side.

use std::fs;

use anyhow::{Context as _, Result};

use crate::workspace;

/// Path in the workspace.
pub(super) const PATH: &str = "docs/reference/mcp-conformance.md";

/// Header of a table.
const HEAD: &str = "| scenario | revision | checks | explanation |\n|---|---|---|---|\n";

/// Replaces the rows of the table under a heading.
pub(super) fn write(heading: &str, rows: &str) -> Result<()> {
    let path = workspace::root().join(PATH);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {PATH}"))?;
    let new = replace(&text, heading, rows).with_context(|| format!("{PATH} has no table under {heading:?}"))?;
    fs::write(&path, new).with_context(|| format!("cannot write {PATH}"))
}

/// Returns the text with these rows in the first table after the heading. `None` if the heading or the table is
/// missing.
fn replace(text: &str, heading: &str, rows: &str) -> Option<String> {
    let begin = text.find(&format!("{heading}\n"))?;
    let table = begin + text[begin..].find(HEAD)? + HEAD.len();
    // A table ends with an empty line, or with the document.
    let end = text[table..].find("\n\n").map_or(text.len(), |end| table + end + 1);
    let rest = if text[table..].starts_with('\n') { &text[table..] } else { &text[end..] };
    Some(format!("{}{rows}{rest}", &text[..table]))
}

#[cfg(test)]
mod tests {
    use super::{HEAD, replace};

    #[test]
    fn only_the_rows_under_the_heading_are_replaced() {
        let text = |client: &str, server: &str| {
            format!("# A\n\n## Client\n\n{HEAD}{client}\n## Server\n\nSome.\n\n{HEAD}{server}")
        };
        let old = text("| a |\n| b |\n", "| c |\n");
        assert_eq!(replace(&old, "## Client", "| x |\n").unwrap(), text("| x |\n", "| c |\n"));
        assert_eq!(replace(&old, "## Server", "| y |\n| z |\n").unwrap(), text("| a |\n| b |\n", "| y |\n| z |\n"));
        assert_eq!(replace(&text("", ""), "## Client", "| x |\n").unwrap(), text("| x |\n", ""));
        assert_eq!(replace(&old, "## Other", ""), None);
    }
}
