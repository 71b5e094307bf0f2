//! Tests of hostile text.

use super::*;

/// Known ways to inject markup.
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
    "x[^\"onclick=\"a] <b>\n\n[^\"onclick=\"a]: <script>alert(1)</script>\n",
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
                "sup",
            ];
            assert!(known.contains(&name), "<{name} from {markdown}: {html}");
            let inside = tag.split('>').next().unwrap_or_default();
            let outside_quotes: String = inside.split('"').step_by(2).collect();
            assert!(!outside_quotes.contains(" on"), "{inside} from {markdown}");
        }
        for address in html.split(" href=\"").skip(1) {
            assert!(
                ["https://", "http://", "mailto:", "#p-"].iter().any(|start| address.starts_with(start)),
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
        "**「".repeat(n),
        "計*".repeat(n),
        "https://a.b/( ".repeat(n),
        format!("https://a.b/{}", ")".repeat(n)),
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

/// A few bytes of Markdown become hundreds of bytes of HTML, in one block or in many.
#[test]
fn a_large_text_is_rendered_up_to_its_limit() {
    let write = |markdown: &str| {
        let mut html = String::new();
        write_text(markdown, "p", &labels(), &mut html);
        html
    };
    for (unit, is_cut) in [
        ("```\n```\n", true),
        ("a|b\n-|-\n\n", true),
        ("[a]\n\n", true),
        ("- ```\n  ```\n", false),
        ("- [ ] a\n", false),
        ("*a*", false),
        ("$a$ ", false),
        ("<a@b.c> ", false),
        ("\"&<", false),
    ] {
        let markdown = unit.repeat(300_000 / unit.len()) + "\n\n[a]: https://example.com/" + &"b".repeat(10_000);
        let html = write(&markdown);
        assert!(html.len() < 5 * 1024 * 1024, "{} from {unit:?}", html.len());
        assert!(!is_cut || html.ends_with("Left out</p></div>"), "{unit:?}");
    }
    let prose = "A sentence of ordinary length, with nothing in it. ".repeat(60_000);
    let html = write(&prose);
    assert!(
        html.len() > prose.len() && !html.contains("text-left-out"),
        "three megabytes of prose are rendered completely"
    );
}

/// The time that browsers need for a mark grows with the number of marks before it.
#[test]
fn many_marks_on_one_character_are_left_out() {
    let marks = "\u{301}".repeat(100_000);
    for markdown in [
        format!("a{marks}"),
        format!("`a{marks}`"),
        format!("```\na{marks}\n```"),
        format!("[a{marks}](https://example.com)"),
        format!("$a{marks}$"),
        "a".to_owned() + &"&#x301;".repeat(10_000),
    ] {
        let shown = visible(&html(&markdown));
        let longest = shown.split(|c| c != '\u{301}').map(|run| run.chars().count()).max().unwrap();
        assert_eq!(longest, 16, "{markdown:.10}");
    }
}
