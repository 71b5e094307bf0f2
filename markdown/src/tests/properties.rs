//! Properties of the rendering of any text.

use proptest::prelude::*;

use super::*;

/// Returns pieces from which the tests build Markdown.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "\n",
        "\n\n",
        " ",
        "    ",
        "\t",
        "a",
        "bc",
        "計算",
        "🙂",
        "*",
        "**",
        "_",
        "~~",
        "`",
        "```",
        "```rust\n",
        "# ",
        "- ",
        "1. ",
        "> ",
        "---",
        "===",
        "|",
        "|-|-|\n",
        "| a | b |\n",
        "[",
        "]",
        "(",
        ")",
        "![",
        "[a]",
        "[a]: https://b.c\n",
        "[^1]",
        "\n[^1]: ",
        "[^",
        "<",
        ">",
        "<b>",
        "</b>",
        "<!--",
        "-->",
        "<script>",
        "&",
        "&amp;",
        "\\",
        ":",
        "https://d.e",
        "「",
        "。",
        "~",
        "<br>",
        "javascript:f",
        "[x] ",
        "$",
        "$$",
        "\\(",
        "\\)",
        "\\[",
        "\\]",
        "\r\n",
        "\0",
    ]);
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_text_can_be_rendered(text in prop_oneof![pieces(), any::<String>()]) {
        let document = Document::complete(&text);
        let sources: String = document.blocks().iter().map(|block| &*block.source).collect();
        prop_assert!(sources == text || text.trim().is_empty());
        html_of(&document);
    }

    /// Excludes links, entities and tables, which contain text that is not shown.
    #[test]
    fn no_letter_is_lost(parts in prop::collection::vec(prop::sample::select(vec![
        "\n", "\n\n", " ", "    ", "ab", "計算", "*", "**", "~~", "`", "# ", "- ", "> ", "<b>", "</b>", "<!--", "<c d>", "(", "!", "_",
    ]), 0..60)) {
        let text = parts.concat();
        let letters = |text: &str| text.chars().filter(|c| c.is_alphabetic()).collect::<String>();
        // The labels of the page's buttons are not part of the text.
        let shown = html(&text).replace(CODE_BAR, "");
        prop_assert_eq!(letters(&visible(&shown)), letters(&text));
    }

    #[test]
    fn a_text_that_grows_in_any_steps_has_the_same_result(
        text in pieces(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let mut ends: Vec<usize> = cuts.iter().map(|cut| text.floor_char_boundary(cut.index(text.len() + 1))).collect();
        ends.sort_unstable();
        let mut document = Document::default();
        for end in ends {
            document.update(&text[..end], false);
            let sources: String = document.blocks().iter().map(|block| &*block.source).collect();
            prop_assert!(text[..end].starts_with(&sources));
        }
        document.update(&text, true);
        let at_once = Document::complete(&text);
        prop_assert_eq!(document.blocks(), at_once.blocks());
        prop_assert_eq!(html_of(&document), html(&text));
    }
}
