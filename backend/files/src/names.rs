//! Cleans the names of files, which come from other machines and are shown to users and models.

use crate::limits::MAX_NAME_CHARS;

/// Name of a file whose name has no character to show.
const UNNAMED: &str = "file";

/// Returns the last segment of a path, without control characters and characters that change the text direction or are
/// invisible. A long name keeps its extension.
pub(crate) fn cleaned(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).find(|segment| !segment.trim().is_empty()).unwrap_or_default();
    let shown: String = last.chars().filter(|character| !is_hidden(*character)).collect();
    let shown = shown.trim().trim_start_matches('.').trim();
    if shown.is_empty() {
        return UNNAMED.to_owned();
    }
    let length = shown.chars().count();
    if length <= MAX_NAME_CHARS {
        return shown.to_owned();
    }
    let extension = shown.rsplit_once('.').map(|(_, extension)| extension).filter(|text| text.chars().count() <= 16);
    let end = extension.map_or_else(|| "…".to_owned(), |extension| format!("….{extension}"));
    let kept = MAX_NAME_CHARS - end.chars().count();
    shown.chars().take(kept).chain(end.chars()).collect()
}

/// Returns `true` for characters that are not shown, or that reorder the text around them.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

#[cfg(test)]
mod tests {
    use super::{MAX_NAME_CHARS, cleaned};

    #[test]
    fn names_have_no_path_and_no_hidden_character() {
        for (name, expected) in [
            ("report.pdf", "report.pdf"),
            ("../../etc/passwd", "passwd"),
            ("C:\\Users\\me\\a.txt", "a.txt"),
            ("a\nb\u{0}.txt", "ab.txt"),
            ("invoice\u{202e}fdp.exe", "invoicefdp.exe"),
            (" 見積書 .xlsx", "見積書 .xlsx"),
            (".bashrc", "bashrc"),
            ("", "file"),
            ("/", "file"),
            ("..", "file"),
            ("\u{200b}", "file"),
        ] {
            assert_eq!(cleaned(name), expected, "{name:?}");
        }
    }

    #[test]
    fn a_long_name_keeps_its_extension() {
        let name = cleaned(&format!("{}.pdf", "x".repeat(300)));
        assert_eq!(name.chars().count(), MAX_NAME_CHARS);
        assert!(name.ends_with("x….pdf"), "{name}");
        assert_eq!(cleaned(&"x".repeat(300)).chars().count(), MAX_NAME_CHARS);
    }
}
