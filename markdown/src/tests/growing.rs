//! Tests of growing text, and of the settled part of it.

use super::*;

#[test]
fn an_open_fence_matches_the_parser() {
    for text in [
        "```rust\nlet a = 1;\n",
        "```rust\nlet a = 1;",
        "~~~\n``` is code\n",
        "````md title\n```\ncode\n```\n",
        "```\n    ```\n",
        "```a\\*b &amp;\n<b>\n",
        "``` \n\tx\r\ny\n",
        "~~~ `x`\n`\n",
        "``` a`b\nwords\n",
        "``\nwords\n",
        "```\ncode\n```\nwords\n",
        "```\ncode\n   ````  \nwords\n",
        "```\ncode\n``` x\ncode\n",
        "Words\n\n```js\nx\n",
    ] {
        let mut growing = Document::default();
        // The whole code is passed at once, as soon as the fence is known to start a block.
        growing.update(text, false);
        growing.update(text, false);
        assert_eq!(html_of(&growing), html(text), "{text:?}");
    }
}

#[test]
fn while_a_text_grows_only_its_last_block_changes() {
    let text = "# Title\n\nFirst *one*.\n\n- a\n- b\n\n```\ncode\n\nmore\n```\n\nLast.\nOf all.";
    let mut document = Document::default();
    let mut kept = Vec::new();
    for end in 1..=text.len() {
        let before = document.blocks().to_vec();
        let same = document.update(&text[..end], false);
        assert_eq!(document.blocks().get(..same), before.get(..same));
        kept.push(same);
    }
    assert!(kept.is_sorted(), "{kept:?}");
    assert_eq!(kept.last(), Some(&4), "all blocks but the last are settled");
}

#[test]
fn an_endless_paragraph_is_split_at_sentences() {
    let english = "Sentences come, one by one. And 3 - or 4 - more. ".repeat(1000);
    let japanese = "これは長い段落です。終わりがありません。".repeat(1000);
    for text in [&*english, &japanese, &"word ".repeat(10_000), &"w".repeat(50_000), &"計".repeat(50_000)] {
        let mut growing = Document::default();
        for end in (0..=text.len()).step_by(700) {
            growing.update(&text[..text.floor_char_boundary(end)], false);
        }
        growing.update(text, false);
        let complete = Document::complete(text);
        let cut: Vec<_> = complete.blocks().iter().map(|block| &*block.source).collect();
        assert!(cut.iter().all(|piece| piece.len() <= 16 * 1024 + 4), "{text:.10}");
        assert!(cut.len() > 2 && cut.concat() == *text, "{text:.10}");
        assert_eq!(growing.blocks(), complete.blocks(), "{text:.10}");
        assert!(html(text).starts_with("<p") && !html(text).contains("<ul"), "{text:.10}");
    }
    assert!(Document::complete(&english).blocks()[1].source.starts_with(['S', 'A']));
    assert!(Document::complete(&japanese).blocks()[1].source.starts_with(['こ', '終']));
}

#[test]
fn long_code_is_split_into_parts_of_which_only_the_last_grows() {
    let lines = |count: usize| "let a = 1;\n".repeat(count);
    let code = html(&format!("```rust\n{}```\n", lines(100)));
    let part = format!("<span class=\"lines\">{}</span>", lines(40));
    assert!(code.contains(&format!("<code>{part}{part}{}</code>", lines(20))), "{code}");
    assert!(!html(&format!("```rust\n{}```\n", lines(39))).contains("lines"));
}

#[test]
fn characters_that_an_html_parser_would_change_are_replaced() {
    assert_eq!(html("a\r\nb\rc\0d"), html("a\nb\nc\u{fffd}d"));
    assert_eq!(html("```\r\na\r\nb\r\n```\r\n"), html("```\na\nb\n```\n"));
}

#[test]
fn an_incomplete_line_settles_no_block() {
    let mut document = Document::default();
    // A line of dashes may still become part of the list item.
    document.update("- a\n---", false);
    assert_eq!(document.update("- a\n---x", false), 0);
    assert_eq!(html_of(&document), "<ul dir=\"auto\"><li>a\n---x</li></ul>");
}

#[test]
fn a_link_that_is_defined_late_works_once_the_text_is_complete() {
    let text = "See [this].\n\nMore.\n\n[this]: https://example.com\n";
    let mut document = Document::default();
    document.update(text, false);
    assert!(!html_of(&document).contains("<a "), "the first block is settled and does not change");
    document.update(text, true);
    assert_eq!(html_of(&document), html(text));
    assert!(html(text).contains("<a "));
}

#[test]
fn another_text_replaces_the_first() {
    let mut document = Document::default();
    document.update("One.\n\nTwo.\n\nThree.", false);
    document.update("Four.", false);
    assert_eq!(html_of(&document), "<p>Four.</p>");
}
