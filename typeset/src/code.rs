//! Finds the tokens of a program.

use hl_lite::{Lang, highlight};

use crate::{
    lexicon,
    token::{Kind, Token},
};

/// Maximum size of highlighted code, in bytes; longer code stays plain. Tokenizing is fast, but browsers process all
/// ranges in every frame. With more than about ten thousand ranges, the page becomes noticeably slow.
const MAX_CODE: usize = 64 * 1024;

/// Returns the tokens of `code`, in order. Text in the default color has no tokens. `label` is the info string of the
/// fence. Returns no tokens if its language is unknown.
pub fn tokens(code: &str, label: &str) -> Vec<Token> {
    if code.len() > MAX_CODE {
        return Vec::new();
    }
    let name = language(label);
    if let Some(language) = Lang::from_slug(alias(&name)) {
        return read_by_library(code, language);
    }
    lexicon::tokens(code, &name)
}

/// Returns the language in a label, which may contain more: `rust,ignore`, `js title="a.js"`, `{.python}`.
fn language(label: &str) -> String {
    let label = label.trim_start_matches(['{', '.', ' ']);
    let end = label.find(|c: char| !(c.is_ascii_alphanumeric() || "+#-_.".contains(c))).unwrap_or(label.len());
    label[..end].to_ascii_lowercase()
}

/// Maps other names that models use for a language to a name that the library knows.
fn alias(name: &str) -> &str {
    match name {
        "sh-session" | "shell-session" | "shellsession" | "ksh" | "fish" => "bash",
        "xhtml" | "rss" | "plist" | "vue" | "svelte" => "html",
        "ini" | "cfg" | "conf" | "properties" => "toml",
        "ipython" | "pycon" | "python3" => "python",
        "jsonl" | "ndjson" | "geojson" => "json",
        "scss" | "less" => "css",
        "node" | "nodejs" => "javascript",
        _ => name,
    }
}

fn read_by_library(code: &str, language: Lang) -> Vec<Token> {
    let mut start = 0;
    let ranges = highlight(language, code).into_iter().map(|span| {
        let range = start..start + span.text.len();
        start = range.end;
        (span.kind, range)
    });
    ranges.filter_map(|(kind, range)| Some(Token { kind: kind_of(kind)?, range })).collect()
}

fn kind_of(kind: hl_lite::Kind) -> Option<Kind> {
    Some(match kind {
        hl_lite::Kind::Comment => Kind::Comment,
        hl_lite::Kind::String => Kind::String,
        hl_lite::Kind::Number | hl_lite::Kind::Constant => Kind::Literal,
        hl_lite::Kind::Keyword | hl_lite::Kind::Tag => Kind::Keyword,
        hl_lite::Kind::Type => Kind::Type,
        hl_lite::Kind::Function => Kind::Function,
        hl_lite::Kind::Attribute | hl_lite::Kind::Property | hl_lite::Kind::Variable => Kind::Name,
        // These stay plain, because too many colors are distracting.
        hl_lite::Kind::Plain | hl_lite::Kind::Operator | hl_lite::Kind::Punctuation => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the tokens as `kind:text`.
    fn read(label: &str, code: &str) -> Vec<String> {
        let tokens = tokens(code, label);
        tokens.iter().map(|token| format!("{}:{}", &token.kind.name()[5..], &code[token.range.clone()])).collect()
    }

    #[test]
    fn each_language_has_its_tokens() {
        for (label, code, expected) in [
            ("rust", "// a\nlet x: u8 = 1;", "comment:// a keyword:let type:u8 literal:1"),
            ("python", "def f(x):\n  return 'a' # b", "keyword:def function:f keyword:return string:'a' comment:# b"),
            ("js", "const a = `b`;", "keyword:const string:`b`"),
            ("typescript", "let a: string = null", "keyword:let type:string literal:null"),
            ("json", r#"{"a": 1.5, "b": true}"#, r#"name:"a" literal:1.5 name:"b" literal:true"#),
            ("html", "<p class=\"a\">b</p>", "keyword:p name:class string:\"a\" keyword:p"),
            ("css", "p { color: red; }", "keyword:p name:color"),
            ("bash", "echo \"a\" # b", "function:echo string:\"a\" comment:# b"),
            ("yaml", "a: 'b' # c", "name:a string:'b' comment:# c"),
            ("toml", "[a]\nb = 1", "keyword:[a] name:b literal:1"),
            (
                "sql",
                "SELECT a FROM b WHERE c = 'd' -- e",
                "keyword:SELECT keyword:FROM keyword:WHERE string:'d' comment:-- e",
            ),
            (
                "c",
                "int f(void) { return 0x1F; /* a */ }",
                "type:int function:f type:void keyword:return literal:0x1F comment:/* a */",
            ),
            ("c++", "auto s = \"a\\\"b\";", "keyword:auto string:\"a\\\"b\""),
            ("java", "public class Foo { String a; }", "keyword:public keyword:class type:Foo type:String"),
            ("go", "func f() { x := `a` }", "keyword:func function:f string:`a`"),
            ("diff", "@@ -1 +1 @@\n-a\n+b\n c", "keyword:@@ -1 +1 @@ removed:-a added:+b"),
        ] {
            assert_eq!(read(label, code).join(" "), expected, "{label}");
        }
    }

    #[test]
    fn languages_are_found_in_many_forms_of_labels() {
        for label in ["rust", "Rust", "rs", "rust,ignore", "rust title=\"a.rs\"", "{.rust}", "RUST\u{3000}"] {
            assert_eq!(read(label, "let"), ["keyword:let"], "{label}");
        }
        for label in ["", " ", "text", "計算", "<script>", "\" onload=alert(1)", &"a".repeat(100_000)] {
            assert!(read(label, "let x = 1;").is_empty(), "{label:.20}");
        }
    }

    #[test]
    fn code_over_the_limit_stays_plain() {
        assert!(!tokens(&"let ".repeat(16_000), "rust").is_empty());
        assert!(tokens(&"let ".repeat(17_000), "rust").is_empty());
    }

    const LABELS: [&str; 27] = [
        "rust",
        "bash",
        "css",
        "docker",
        "html",
        "js",
        "ts",
        "json",
        "markdown",
        "python",
        "toml",
        "yaml",
        "c",
        "c++",
        "c#",
        "java",
        "kotlin",
        "go",
        "swift",
        "php",
        "ruby",
        "sql",
        "diff",
        "dart",
        "scala",
        "lua",
        "powershell",
    ];

    proptest! {
        #[test]
        fn tokens_are_in_order_and_split_no_character(
            label in prop::sample::select(LABELS.to_vec()),
            code in prop_oneof![
                any::<String>(),
                prop::collection::vec(prop::sample::select(vec![
                    "\n", " ", "a", "1", "\"", "'", "`", "\\", "/*", "*/", "//", "#", "--", "<", ">", "{", "}", "(", "計", "$",
                    "<<EOF\n", "r#\"", "\"\"\"", "@", "+", "-", ":", "=",
                ]), 0..60).prop_map(|parts| parts.concat()),
            ],
        ) {
            let mut end = 0;
            for token in tokens(&code, label) {
                prop_assert!(token.range.start >= end && token.range.end > token.range.start);
                prop_assert!(code.get(token.range.clone()).is_some());
                end = token.range.end;
            }
        }
    }
}
