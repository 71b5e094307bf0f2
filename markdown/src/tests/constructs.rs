//! Tests of each construct, in a complete text.

use super::*;

#[test]
fn inline_markup() {
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
        ("### 1\n\nText\n\n#### 2\n### 3", "<h3>1</h3><p>Text</p><h4>2</h4><h3>3</h3>"),
        (
            "> One\n>\n> > Two",
            "<blockquote dir=\"auto\"><p>One</p><blockquote dir=\"auto\"><p>Two</p></blockquote></blockquote>",
        ),
    ] {
        assert_eq!(html(markdown), expected, "{markdown}");
    }
}

#[test]
fn a_long_text_is_split_into_parts() {
    let written = |text: &str| {
        let mut html = String::new();
        write_text(text, "p", &labels(), &mut html);
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
fn a_table_has_every_element_that_a_parser_would_add() {
    let expected = "<div dir=\"auto\" class=\"table-block\"><div class=\"table\" tabindex=\"0\" role=\"group\" aria-label=\"Table: Item, Sum\"><table>\
        <thead><tr><th scope=\"col\">Item</th><th scope=\"col\" data-align=\"right\">Sum</th></tr></thead>\
        <tbody><tr><td>A</td><td data-align=\"right\"><strong>1</strong></td></tr>\
        <tr><td>B</td><td data-align=\"right\"></td></tr></tbody></table></div>\
        <button type=\"button\" class=\"button quiet small copy\" data-testid=\"copy-table\">\
        <span class=\"copy-label\">Copy as CSV</span><span class=\"copy-done\">Copied</span></button></div>";
    assert_eq!(html("| Item | Sum |\n|---|--:|\n| A | **1** |\n| B |\n"), expected);
}

#[test]
fn code_keeps_its_text_and_shows_its_language() {
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
fn formulas_are_shown_as_their_source() {
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
        // With the formula hidden, this would be a link, so the formula is not hidden.
        ("[a]($x y$)", "<p>[a]($x y$)</p>".to_owned()),
    ] {
        assert_eq!(html(markdown), expected, "{markdown}");
    }
}

#[test]
fn links_open_safely() {
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
fn emphasis_works_beside_cjk_punctuation() {
    let bold = |text: &str| format!("<strong>{text}</strong>");
    for (markdown, expected) in [
        ("これは**「重要」**です。", format!("これは{}です。", bold("「重要」"))),
        ("**「重要」**です", format!("{}です", bold("「重要」"))),
        ("これは**重要。**次", format!("これは{}次", bold("重要。"))),
        ("**A（B）**は**「C」**と**「D」**", format!("{}は{}と{}", bold("A（B）"), bold("「C」"), bold("「D」"))),
        ("**`add`**は**(1)**と**\"x\"**です", {
            format!("{}は{}と{}です", bold("<code>add</code>"), bold("(1)"), bold("\"x\""))
        }),
        ("これは*「強調」*です", "これは<em>「強調」</em>です".to_owned()),
        ("これは~~「古い」~~です", "これは<del>「古い」</del>です".to_owned()),
        ("이 별표는 **강조(괄호)**이다", format!("이 별표는 {}이다", bold("강조(괄호)"))),
        ("请看**“重点”**。", format!("请看{}。", bold("“重点”"))),
        ("**注意！**これは[「x」**y**](https://example.com/「)", {
            format!("{}これは{}", bold("注意！"), link("https://example.com/「", &format!("「x」{}", bold("y"))))
        }),
        ("`**「x」**`は**、**", format!("<code>**「x」**</code>は{}", bold("、"))),
        ("𠮷**「野」**家、**𠮷(野)**家", format!("𠮷{}家、{}家", bold("「野」"), bold("𠮷(野)"))),
        ("2**3、a ** b", "2**3、a ** b".to_owned()),
    ] {
        assert_eq!(html(markdown), format!("<p>{expected}</p>"), "{markdown}");
    }
}

#[test]
fn a_single_tilde_does_not_strike_text_through() {
    for (markdown, expected) in [
        ("(~$1.50) and (~$10)", "(~$1.50) and (~$10)"),
        ("~5 to ~6, ~a~ and ~~b~~", "~5 to ~6, ~a~ and <del>b</del>"),
        ("~*a*~", "~<em>a</em>~"),
    ] {
        assert_eq!(html(markdown), format!("<p>{expected}</p>"), "{markdown}");
    }
}

#[test]
fn a_cell_can_have_line_breaks() {
    let table = html("| a |\n|---|\n| 1<br>2<BR/>3<br />4<b>5 |");
    assert!(table.contains("<td>1<br>2<br>3<br>4&lt;b&gt;5</td>"), "{table}");
}

#[test]
fn addresses_in_the_text_are_links() {
    let to = |address: &str| link(address, address);
    for (markdown, expected) in [
        ("https://example.com/a_b_c?d=1&e=2.", format!("{}.", to("https://example.com/a_b_c?d=1&amp;e=2"))),
        ("**https://example.com/** (http://a.b)", {
            format!("<strong>{}</strong> ({})", to("https://example.com/"), to("http://a.b"))
        }),
        ("詳細はhttps://example.com/a。（https://example.com/b）", {
            format!("詳細は{}。（{}）", to("https://example.com/a"), to("https://example.com/b"))
        }),
        ("`https://example.com`", "<code>https://example.com</code>".to_owned()),
        ("_https://example.com/a__b__c.py_ `https://a.b/__c__`", {
            format!("<em>{}</em> <code>https://a.b/__c__</code>", to("https://example.com/a__b__c.py"))
        }),
        ("https://example.com/__init__.py and __this__", {
            format!("{} and <strong>this</strong>", to("https://example.com/__init__.py"))
        }),
        ("<https://a.b/__c__> [d](https://a.b/__c__) [https://e.f/__g__](https://a.b/__c__) (https://a.b/__c__/d)", {
            let (address, words) = ("https://a.b/__c__", "https://e.f/__g__");
            format!("{} {} {} ({})", to(address), link(address, "d"), link(address, words), to("https://a.b/__c__/d"))
        }),
        ("See www.example.com.", format!("See {}.", link("https://www.example.com", "www.example.com"))),
        ("[see https://a.b](https://c.d)", link("https://c.d", "see https://a.b")),
        ("javascript://a.b, ftp://a.b", "javascript://a.b, ftp://a.b".to_owned()),
    ] {
        assert_eq!(html(markdown), format!("<p>{expected}</p>"), "{markdown}");
    }
}

#[test]
fn footnotes_and_their_references_link_to_each_other() {
    let text = "One[^1] and[^b], again[^1].\n\nNo[^2] `[^1]`.\n\n[^1]: First *note*.\n[^b]: Second.\n\n    More.\n[^1]: Again.\n";
    let reference = |label: &str, at: usize, id: &str| {
        format!(
            "<sup class=\"footnote-ref\"><a aria-label=\"Footnote {label}\" href=\"#p-note-{at}\"{id}>{label}</a></sup>"
        )
    };
    let note = |label: &str, at: usize, words: &str| {
        format!(
            "<div class=\"footnote\" id=\"p-note-{at}\"><a href=\"#p-ref-{at}\" aria-label=\"Back to {label}\" \
             class=\"footnote-mark\">{label}</a><div dir=\"auto\">{words}</div></div>"
        )
    };
    let expected = [
        format!("<p>One{}", reference("1", 0, " id=\"p-ref-0\"")),
        format!(" and{}, again{}.</p>", reference("b", 1, " id=\"p-ref-1\""), reference("1", 0, "")),
        "<p>No[^2] <code>[^1]</code>.</p>".to_owned(),
        note("1", 0, "<p>First <em>note</em>.</p>"),
        note("b", 1, "<p>Second.</p><p>More.</p>"),
        "<div class=\"footnote\"><span class=\"footnote-mark\">1</span><div dir=\"auto\"><p>Again.</p></div></div>"
            .to_owned(),
    ];
    assert_eq!(html(text), expected.concat());
    let mut growing = Document::default();
    for end in 1..=text.len() {
        growing.update(&text[..end], false);
        html_of(&growing);
    }
    growing.update(text, true);
    assert_eq!(html_of(&growing), html(text));
}

#[test]
fn text_after_a_reference_is_not_part_of_a_footnote() {
    for block in
        ["    code[^1]", "```\n[^1]", "- a[^1]", "\tcode[^1]", "> a[^1]", "<b>[^1]", "| a[^1] |\n|-|", "[a][^1]"]
    {
        let html = html(&format!("{block}\n\n```\n```\n\n[^1]: Note."));
        assert!(!html.contains("<hr>") && html.matches("class=\"footnote\"").count() <= 1, "{block}: {html}");
        assert!(!html.contains("]: x"), "{block}: {html}");
    }
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

#[test]
fn definitions_alone_are_shown_as_text() {
    assert_eq!(html("[a]: https://example.com"), "<p>[a]: https://example.com</p>");
    assert_eq!(html(" \n\n"), "");
}
