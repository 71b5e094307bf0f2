//! What Markdown becomes, shown as HTML: each construct, hostile text, and text that grows.

use proptest::prelude::*;

use crate::{Document, Labels, PART, node::write_html, render::render, write_html as write_text};

fn labels() -> Labels {
    let [copy, copied, table, task_done, task_open] =
        ["Copy", "Copied", "Table", "Done", "Not done"].map(str::to_owned);
    Labels { copy, copied, table, task_done, task_open }
}

/// The HTML of a complete text.
fn html(markdown: &str) -> String {
    html_of(&Document::complete(markdown))
}

fn html_of(document: &Document) -> String {
    let mut html = String::new();
    document.blocks().iter().for_each(|block| write_html(&render(block, &labels()), &mut html));
    html
}

/// What a reader sees of the HTML.
fn visible(html: &str) -> String {
    let mut text = String::new();
    for part in html.split('<') {
        text.push_str(part.split_once('>').map_or(part, |(_, text)| text));
    }
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

const CODE_BAR: &str = "<button type=\"button\" class=\"button quiet small copy\" data-testid=\"copy-code\">\
    <span class=\"copy-label\">Copy</span><span class=\"copy-done\">Copied</span></button></div>";

fn link(address: &str, words: &str) -> String {
    format!("<a href=\"{address}\" target=\"_blank\" rel=\"noopener noreferrer nofollow\">{words}</a>")
}

#[test]
fn words() {
    for (markdown, expected) in [
        (
            "One *two* **three** ~~four~~ `five<`",
            "<p>One <em>two</em> <strong>three</strong> <del>four</del> <code>five&lt;</code></p>",
        ),
        ("One\ntwo", "<p>One\ntwo</p>"),
        ("One  \ntwo", "<p>One<br>two</p>"),
        ("One\\\ntwo", "<p>One<br>two</p>"),
        ("5 &lt; 6 &amp; \\*7\\*", "<p>5 &lt; 6 &amp; *7*</p>"),
        ("---", "<hr>"),
        ("# 1\n## 2\n### 3\n#### 4\n###### 6", "<h3>1</h3><h4>2</h4><h5>3</h5><h6>4</h6><h6>6</h6>"),
        (
            "> One\n>\n> > Two",
            "<blockquote dir=\"auto\"><p>One</p><blockquote dir=\"auto\"><p>Two</p></blockquote></blockquote>",
        ),
    ] {
        assert_eq!(html(markdown), expected, "{markdown}");
    }
}

#[test]
fn a_long_text_stands_in_parts() {
    let written = |text: &str| {
        let mut html = String::new();
        write_text(text, &labels(), &mut html);
        html
    };
    assert_eq!(written(""), "");
    assert_eq!(written("One\n\nTwo"), "<div class=\"part\" data-measured=\"\"><p>One</p><p>Two</p></div>");
    let html = written(&"Words\n\n".repeat(2 * PART + 1));
    let parts: Vec<_> = html.split("</div>").map(|part| part.matches("<p>").count()).collect();
    assert_eq!(parts, [PART, PART, 1, 0]);
}

#[test]
fn lists() {
    for (markdown, expected) in [
        (
            "- One\n- Two\n  1. Three",
            "<ul dir=\"auto\"><li>One</li><li>Two<ol dir=\"auto\" start=\"1\"><li>Three</li></ol></li></ul>",
        ),
        ("7. One\n\n8. Two", "<ol dir=\"auto\" start=\"7\"><li><p>One</p></li><li><p>Two</p></li></ol>"),
        (
            "- [x] One\n- [ ] Two",
            "<ul dir=\"auto\"><li><input type=\"checkbox\" disabled=\"\" checked=\"\" aria-label=\"Done\">One</li>\
             <li><input type=\"checkbox\" disabled=\"\" aria-label=\"Not done\">Two</li></ul>",
        ),
    ] {
        assert_eq!(html(markdown), expected, "{markdown}");
    }
}

#[test]
fn a_table_has_every_part_that_a_parser_would_add() {
    let expected = "<div dir=\"auto\" class=\"table\" tabindex=\"0\" role=\"region\" aria-label=\"Table: Item, Sum\"><table>\
        <thead><tr><th scope=\"col\">Item</th><th scope=\"col\" data-align=\"right\">Sum</th></tr></thead>\
        <tbody><tr><td>A</td><td data-align=\"right\"><strong>1</strong></td></tr>\
        <tr><td>B</td><td data-align=\"right\"></td></tr></tbody></table></div>";
    assert_eq!(html("| Item | Sum |\n|---|--:|\n| A | **1** |\n| B |\n"), expected);
}

#[test]
fn code_keeps_its_letters_and_names_its_language() {
    let block = |label: &str, code: &str| {
        format!(
            "<div class=\"code\"><div class=\"code-bar\"><span class=\"code-language\">{label}</span>{CODE_BAR}\
             <pre tabindex=\"0\"><code>{code}</code></pre></div>"
        )
    };
    for (markdown, expected) in [
        ("```rust\nlet a = &b;\n\n  <i>\n```", block("rust", "let a = &amp;b;\n\n  &lt;i&gt;\n")),
        ("~~~\n```\n~~~", block("", "```\n")),
        ("    four\n      six", block("", "four\n  six")),
        ("```html <b>\nopen", block("html &lt;b&gt;", "open")),
    ] {
        assert_eq!(html(markdown), expected, "{markdown}");
    }
}

#[test]
fn formulas_are_their_own_source() {
    let math = |tex: &str, text: &str| format!("<span class=\"math\" data-tex=\"{tex}\">{text}</span>");
    let display = |tex: &str, text: &str| math(tex, text).replacen(" data-tex", " data-display=\"\" data-tex", 1);
    for (markdown, expected) in [
        ("Let $a_1<b_1$ be *it*.", format!("<p>Let {} be <em>it</em>.</p>", math("a_1&lt;b_1", "$a_1&lt;b_1$"))),
        (r#"\( "x" \)"#, format!("<p>{}</p>", math("&quot;x&quot;", "\\(\"x\"\\)"))),
        ("So\n\\[\na * b * c\n\\]", format!("<p>So\n{}</p>", display("a * b * c", "\\[a * b * c\\]"))),
        ("\\[\na\n- b\n\\]", format!("<p>{}</p>", display("a\n- b", "\\[a\n- b\\]"))),
        ("**$$x$$**は", format!("<p><strong>{}</strong>は</p>", display("x", "$$x$$"))),
        ("It costs $5 and *$10*.", "<p>It costs $5 and <em>$10</em>.</p>".to_owned()),
        ("&lt;$x$&gt; \\$5 $y$", format!("<p>&lt;{}&gt; $5 {}</p>", math("x", "$x$"), math("y", "$y$"))),
        // With the formula hidden this would be a link, so it is not hidden.
        ("[a]($x y$)", "<p>[a]($x y$)</p>".to_owned()),
    ] {
        assert_eq!(html(markdown), expected, "{markdown}");
    }
}

#[test]
fn links_lead_out_safely() {
    let to = "https://example.com/a?b=1&amp;c=2";
    for (markdown, expected) in [
        ("[*Here*](https://example.com/a?b=1&c=2)", link(to, "<em>Here</em>")),
        ("<https://example.com/a?b=1&c=2>", link(to, to)),
        ("<a@example.com>", link("mailto:a@example.com", "a@example.com")),
        ("[Here][x]\n\n[X]: https://example.com", link("https://example.com", "Here")),
        (
            "[Here]\n\n> [here]: https://example.com",
            format!("{}</p><blockquote dir=\"auto\"></blockquote>", link("https://example.com", "Here")),
        ),
    ] {
        let expected =
            if expected.ends_with("quote>") { format!("<p>{expected}") } else { format!("<p>{expected}</p>") };
        assert_eq!(html(markdown), expected, "{markdown}");
    }
    assert!(html("[a](https://example.com \"T\\\"><b>\")").contains("title=\"T&quot;&gt;&lt;b&gt;\""));
}

#[test]
fn images_are_links_and_load_nothing() {
    let image = link("https://example.com/a.png", "A cat");
    assert_eq!(html("![A cat](https://example.com/a.png)"), format!("<p>{image}</p>"));
    assert_eq!(
        html("![](https://example.com/a.png)"),
        format!("<p>{}</p>", link("https://example.com/a.png", "https://example.com/a.png"))
    );
    let nested = link("https://example.com", "<span>A cat (https://example.com/a.png)</span>");
    assert_eq!(html("[![A cat](https://example.com/a.png)](https://example.com)"), format!("<p>{nested}</p>"));
    assert_eq!(html("![x](data:image/png;base64,AA==)"), "<p><span>x (data:image/png;base64,AA==)</span></p>");
}

/// Ways in which markup is known to be smuggled in.
const HOSTILE: &[&str] = &[
    "<script>alert(1)</script>",
    "text <img src=x onerror=alert(1)> text",
    "<svg/onload=alert(1)>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<!-- --><style>*{}</style>",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<?php <script>alert(1)</script> ?>",
    "</code></pre></div><script>alert(1)</script>",
    "`</code><script>alert(1)</script>`",
    "```<script>alert(1)</script>\n</code></pre><script>alert(1)</script>\n```",
    "    <script>alert(1)</script>",
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt:alert(1))",
    "[a](java&#x09;script:alert(1))",
    "[a](&#106;avascript:alert(1))",
    "[a](<javascript:alert(1)>)",
    "[a]( javascript:alert(1) )",
    "[a](\u{1}javascript:alert(1))",
    "[a](vbscript:x)",
    "[a](data:text/html;base64,PHNjcmlwdD4=)",
    "[a](//example.com)",
    "[a](https://example.com\"onmouseover=\"alert(1))",
    "[a](https://example.com '\"><img src=x onerror=alert(1)>')",
    "[a][b]\n\n[b]: javascript:alert(1)",
    "[b]\n\n[b]: data:text/html,<script>alert(1)</script> \"<script>\"",
    "<javascript:alert(1)>",
    "<data:text/html,x>",
    "![a](javascript:alert(1))",
    "![\"onerror=\"alert(1)](x)",
    "![<script>alert(1)</script>](https://example.com/x)",
    "[[a](javascript:alert(1))](javascript:alert(2))",
    "[![[a](https://example.com)](javascript:x)](https://example.com)",
    "| <script>alert(1)</script> |\n|---|\n| <img src=x onerror=alert(1)> |",
    "# <script>alert(1)</script>",
    "- [ ] <script>alert(1)</script>",
    "$<script>alert(1)</script>$",
    "\\(\" onmouseover=\"alert(1)\\)",
    "\\[</span><img src=x onerror=alert(1)>\\]",
    "$$\\href{javascript:alert(1)}{x}$$",
    "[$x$](javascript:alert(1)) $a](b$",
];

#[test]
fn no_text_becomes_markup() {
    for markdown in HOSTILE {
        let html = html(markdown);
        let tags: Vec<_> = html.split('<').skip(1).collect();
        for tag in tags {
            let name =
                tag.trim_start_matches('/').split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
            let known = [
                "p",
                "h3",
                "h4",
                "h5",
                "h6",
                "ul",
                "ol",
                "li",
                "input",
                "blockquote",
                "div",
                "span",
                "button",
                "pre",
                "code",
                "table",
                "thead",
                "tbody",
                "tr",
                "th",
                "td",
                "a",
                "em",
                "strong",
                "del",
                "br",
                "hr",
            ];
            assert!(known.contains(&name), "<{name} from {markdown}: {html}");
            let inside = tag.split('>').next().unwrap_or_default();
            let outside_quotes: String = inside.split('"').step_by(2).collect();
            assert!(!outside_quotes.contains(" on"), "{inside} from {markdown}");
        }
        for address in html.split(" href=\"").skip(1) {
            assert!(
                ["https://", "http://", "mailto:"].iter().any(|start| address.starts_with(start)),
                "{markdown}: {html}"
            );
        }
    }
}

#[test]
fn hostile_sizes_stay_small() {
    let n = 20_000;
    for markdown in [
        ">".repeat(n),
        "- ".repeat(n),
        "[".repeat(n),
        "![".repeat(n),
        "*a ".repeat(n),
        "[a](".repeat(n),
        "`a".repeat(n),
        "$a".repeat(n),
        "\\(".repeat(n),
        "\\(a\\) ".repeat(n),
        format!("{}a", "*".repeat(n)),
        format!("|{}\n|{}\n{}", "a|".repeat(1000), "-|".repeat(1000), "|\n".repeat(5000)),
        format!("{}\n[a]: https://example.com/{}", "[a]".repeat(n), "b".repeat(n)),
        format!("[a]: https://example.com/{}\n\n{}", "b".repeat(n), "[a]".repeat(n)),
    ] {
        let html = html(&markdown);
        assert!(html.len() < 40 * markdown.len() + 200_000, "{} from {:.20}", html.len(), markdown);
        let depth = html.matches("<blockquote").count().max(html.matches("<ul").count());
        assert!(depth <= 32, "{depth} from {markdown:.20}");
    }
}

#[test]
fn definitions_alone_are_shown() {
    assert_eq!(html("[a]: https://example.com"), "<p>[a]: https://example.com</p>");
    assert_eq!(html(" \n\n"), "");
}

#[test]
fn an_open_fence_reads_as_the_parser_reads_it() {
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
        // Once it is known that the fence begins a block, all of it is seen at one time.
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
    assert_eq!(kept.last(), Some(&4), "all but the last are settled");
}

#[test]
fn a_paragraph_without_end_is_cut_where_sentences_end() {
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
        assert!(html(text).starts_with("<p>") && !html(text).contains("<ul"), "{text:.10}");
    }
    assert!(Document::complete(&english).blocks()[1].source.starts_with(['S', 'A']));
    assert!(Document::complete(&japanese).blocks()[1].source.starts_with(['こ', '終']));
}

#[test]
fn long_code_stands_in_parts_of_which_only_the_last_grows() {
    let lines = |count: usize| "let a = 1;\n".repeat(count);
    let code = html(&format!("```rust\n{}```\n", lines(100)));
    let part = format!("<span class=\"lines\">{}</span>", lines(40));
    assert!(code.contains(&format!("<code>{part}{part}{}</code>", lines(20))), "{code}");
    assert!(!html(&format!("```rust\n{}```\n", lines(39))).contains("lines"));
}

#[test]
fn letters_that_an_html_parser_changes_are_changed_before() {
    assert_eq!(html("a\r\nb\rc\0d"), html("a\nb\nc\u{fffd}d"));
    assert_eq!(html("```\r\na\r\nb\r\n```\r\n"), html("```\na\nb\n```\n"));
}

#[test]
fn what_is_still_being_written_settles_nothing() {
    let mut document = Document::default();
    // A line of dashes may yet be the rest of the item.
    document.update("- a\n---", false);
    assert_eq!(document.update("- a\n---x", false), 0);
    assert_eq!(html_of(&document), "<ul dir=\"auto\"><li>a\n---x</li></ul>");
}

#[test]
fn a_link_defined_late_is_there_in_the_end() {
    let text = "See [this].\n\nMore.\n\n[this]: https://example.com\n";
    let mut document = Document::default();
    document.update(text, false);
    assert!(!html_of(&document).contains("<a "), "the first block is settled and left alone");
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

/// Pieces of which Markdown is made.
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
    fn any_text_can_be_drawn(text in prop_oneof![pieces(), any::<String>()]) {
        let document = Document::complete(&text);
        let sources: String = document.blocks().iter().map(|block| &*block.source).collect();
        prop_assert!(sources == text || text.trim().is_empty());
        html_of(&document);
    }

    /// Without links, entities and tables, which have words that are not for reading.
    #[test]
    fn no_letter_is_lost(parts in prop::collection::vec(prop::sample::select(vec![
        "\n", "\n\n", " ", "    ", "ab", "計算", "*", "**", "~~", "`", "# ", "- ", "> ", "<b>", "</b>", "<!--", "<c d>", "(", "!", "_",
    ]), 0..60)) {
        let text = parts.concat();
        let letters = |text: &str| text.chars().filter(|c| c.is_alphabetic()).collect::<String>();
        // The labels of the page's own buttons are not the text's.
        let shown = html(&text).replace(CODE_BAR, "");
        prop_assert_eq!(letters(&visible(&shown)), letters(&text));
    }

    #[test]
    fn grown_in_any_steps_it_is_the_same_in_the_end(
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
