//! File formats for parts of an answer: code as a file, and tables as CSV.

use std::borrow::Cow;

/// Returns the name of a file for code in this language, which is the label of a code fence. It is `code.txt` if the
/// language is unknown.
pub(crate) fn file_name(label: &str) -> String {
    let language = label.split([' ', ',', '{', ':']).next().unwrap_or_default().to_ascii_lowercase();
    let extension = match language.as_str() {
        "rust" => "rs",
        "python" | "py3" => "py",
        "javascript" | "node" => "js",
        "typescript" => "ts",
        "csharp" | "c#" => "cs",
        "c++" => "cpp",
        "golang" => "go",
        "ruby" => "rb",
        "kotlin" => "kt",
        "bash" | "shell" | "zsh" | "console" => "sh",
        "powershell" => "ps1",
        "markdown" => "md",
        "yaml" => "yml",
        "perl" => "pl",
        "haskell" => "hs",
        "julia" => "jl",
        // Labels that are already file extensions.
        "rs" | "py" | "js" | "jsx" | "ts" | "tsx" | "mjs" | "c" | "h" | "cpp" | "hpp" | "cs" | "go" | "java" | "rb"
        | "kt" | "swift" | "php" | "r" | "lua" | "sql" | "sh" | "ps1" | "html" | "css" | "scss" | "json" | "toml"
        | "yml" | "xml" | "svg" | "csv" | "md" | "tex" | "pl" | "hs" | "jl" | "diff" | "patch" | "ini" | "dart"
        | "scala" | "vue" | "zig" | "nix" | "tf" | "proto" | "graphql" | "log" => &language,
        _ => "txt",
    };
    format!("code.{extension}")
}

/// Formats the rows of a table as CSV (RFC 4180).
///
/// The content of a table is untrusted, because it comes from a model. Spreadsheets evaluate a cell that starts like
/// a formula, and a formula can send their data elsewhere. Such a cell gets an apostrophe in front, so that
/// spreadsheets treat it as text. Numbers, with or without a sign, are unchanged.
pub(crate) fn csv(rows: &[Vec<String>]) -> String {
    let mut csv = String::new();
    for row in rows {
        for (at, cell) in row.iter().enumerate() {
            if at > 0 {
                csv.push(',');
            }
            push_field(&mut csv, &without_formula(cell.trim()));
        }
        csv.push_str("\r\n");
    }
    csv
}

fn without_formula(cell: &str) -> Cow<'_, str> {
    // Some programs treat the full-width forms like the others.
    let may_compute = cell.starts_with(['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠']);
    if may_compute && !is_number(cell) { Cow::Owned(format!("'{cell}")) } else { Cow::Borrowed(cell) }
}

/// Returns `true` for a number: an optional sign, a digit, then digits, separators, and percent signs. Such a cell
/// cannot name or call anything.
fn is_number(cell: &str) -> bool {
    let digits = cell.strip_prefix(['+', '-']).unwrap_or(cell);
    digits.starts_with(|first: char| first.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | ' ' | '\u{a0}' | '\u{202f}' | '%'))
}

fn push_field(csv: &mut String, field: &str) {
    if field.contains([',', '"', '\r', '\n']) {
        csv.push('"');
        csv.push_str(&field.replace('"', "\"\""));
        csv.push('"');
    } else {
        csv.push_str(field);
    }
}

#[cfg(test)]
mod tests {
    use super::{csv, file_name};

    #[test]
    fn files_are_named_after_their_language() {
        for (label, name) in [
            ("rust", "code.rs"),
            ("Python", "code.py"),
            ("ts title=\"a.ts\"", "code.ts"),
            ("rust,ignore", "code.rs"),
            ("c++", "code.cpp"),
            ("", "code.txt"),
            ("../../etc/passwd", "code.txt"),
            ("exe", "code.txt"),
        ] {
            assert_eq!(file_name(label), name, "{label}");
        }
    }

    #[test]
    fn fields_are_quoted_if_necessary() {
        let row = |cells: &[&str]| cells.iter().map(|&cell| cell.to_owned()).collect::<Vec<_>>();
        let rows = [row(&["Item", "Sum"]), row(&["A, \"big\" one", "1\n2"]), row(&["", " 計算 "])];
        assert_eq!(csv(&rows), "Item,Sum\r\n\"A, \"\"big\"\" one\",\"1\n2\"\r\n,計算\r\n");
    }

    #[test]
    fn formulas_become_text_and_numbers_are_unchanged() {
        for (cell, field) in [
            ("=1+2", "'=1+2"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("+A1", "'+A1"),
            ("-cmd|' /c calc'!A0", "'-cmd|' /c calc'!A0"),
            ("＝1", "'＝1"),
            ("-5", "-5"),
            ("+1.5 %", "+1.5 %"),
            ("-1e5", "'-1e5"),
            ("-1+2", "'-1+2"),
            ("a=b", "a=b"),
        ] {
            assert_eq!(csv(&[vec![cell.to_owned()]]), format!("{field}\r\n"), "{cell}");
        }
    }
}
