//! What is taken from an answer into other programs: code as a file, a table as CSV.

use std::borrow::Cow;

/// The name of a file of code in this language, as it is named after a fence; `code.txt` when it is not known.
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
        // Many are called as their files end.
        "rs" | "py" | "js" | "jsx" | "ts" | "tsx" | "mjs" | "c" | "h" | "cpp" | "hpp" | "cs" | "go" | "java" | "rb"
        | "kt" | "swift" | "php" | "r" | "lua" | "sql" | "sh" | "ps1" | "html" | "css" | "scss" | "json" | "toml"
        | "yml" | "xml" | "svg" | "csv" | "md" | "tex" | "pl" | "hs" | "jl" | "diff" | "patch" | "ini" | "dart"
        | "scala" | "vue" | "zig" | "nix" | "tf" | "proto" | "graphql" | "log" => &language,
        _ => "txt",
    };
    format!("code.{extension}")
}

/// Rows of a table as CSV after RFC 4180.
///
/// What stands in a table comes from a model, and through it from anywhere, and spreadsheets compute a cell that begins as
/// a formula does, which can send what they hold elsewhere. Such a cell gets an apostrophe in front, which makes it text to
/// them. A number stays a number, with its sign.
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
    // Some programs take the wide forms for the others.
    let may_compute = cell.starts_with(['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠']);
    if may_compute && !is_number(cell) { Cow::Owned(format!("'{cell}")) } else { Cow::Borrowed(cell) }
}

/// A sign, digits, and what groups them and follows them; nothing that could name or call anything.
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
    fn fields_are_quoted_where_they_must_be() {
        let row = |cells: &[&str]| cells.iter().map(|&cell| cell.to_owned()).collect::<Vec<_>>();
        let rows = [row(&["Item", "Sum"]), row(&["A, \"big\" one", "1\n2"]), row(&["", " 計算 "])];
        assert_eq!(csv(&rows), "Item,Sum\r\n\"A, \"\"big\"\" one\",\"1\n2\"\r\n,計算\r\n");
    }

    #[test]
    fn nothing_computes_where_it_is_pasted_and_numbers_stay_numbers() {
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
