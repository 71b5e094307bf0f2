//! Extracts the text of an HTML file. It makes one pass over the tokens and builds no tree, so deep nesting does no
//! harm.

use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};

use crate::pages::{Pages, Prose};

/// Elements that are left out, with all their contents.
const SKIPPED_ELEMENTS: [&str; 10] =
    ["script", "style", "template", "noscript", "svg", "math", "iframe", "object", "canvas", "select"];
/// Elements that begin and end a paragraph.
const BLOCKS: [&str; 26] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "center",
    "details",
    "dd",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "header",
    "hr",
    "main",
    "nav",
    "ol",
    "p",
    "section",
    "summary",
    "table",
    "ul",
];

/// Extracts the text, with headings and list items as in Markdown, and rows of tables as lines.
pub(crate) fn read(html: &str) -> Pages {
    let mut emitter = DefaultEmitter::<()>::default();
    emitter.naively_switch_states(true);
    let mut prose = Prose::default();
    // Name of the element that is left out, and number of open elements with this name.
    let mut skipped: Option<(Vec<u8>, usize)> = None;
    let mut preformatted = 0_usize;
    for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
        match (token, &mut skipped) {
            (Token::StartTag(tag), Some((name, depth))) => {
                *depth += usize::from(*name == *tag.name && !is_empty(&tag));
            }
            (Token::EndTag(tag), Some((name, depth))) => {
                *depth -= usize::from(*name == *tag.name);
                if *depth == 0 {
                    skipped = None;
                }
            }
            (Token::StartTag(tag), None) => {
                let name = String::from_utf8_lossy(&tag.name);
                preformatted += usize::from(name == "pre");
                if SKIPPED_ELEMENTS.contains(&name.as_ref()) {
                    skipped = (!is_empty(&tag)).then(|| (tag.name.to_vec(), 1));
                } else {
                    open(&mut prose, &name);
                }
            }
            (Token::EndTag(tag), None) => {
                let name = String::from_utf8_lossy(&tag.name);
                preformatted = preformatted.saturating_sub(usize::from(name == "pre"));
                close(&mut prose, &name);
            }
            (Token::String(text), None) => {
                let text = String::from_utf8_lossy(&text);
                if preformatted > 0 { prose.write(&text) } else { prose.write_words(&text) }
            }
            (Token::Comment(_) | Token::Doctype(_) | Token::Error(_), None) | (_, Some(_)) => {}
        }
        if prose.is_full() {
            break;
        }
    }
    Pages::split(&prose.take())
}

/// Returns `true` for `<svg/>` and `<math/>`. In HTML, `/` closes no other elements.
fn is_empty(tag: &StartTag<()>) -> bool {
    tag.self_closing && matches!(tag.name.as_slice(), b"svg" | b"math")
}

fn open(prose: &mut Prose, name: &str) {
    match name {
        "br" => prose.line(),
        "li" => prose.begin_item(),
        "tr" => prose.begin_row(),
        "td" | "th" => prose.begin_cell(),
        "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => prose.begin_heading(usize::from(name.as_bytes()[1] - b'0')),
        "title" | "pre" => prose.paragraph(),
        name if BLOCKS.contains(&name) => prose.paragraph(),
        _ => {}
    }
}

fn close(prose: &mut Prose, name: &str) {
    match name {
        "tr" => prose.end_row(),
        "li" => prose.end_marked(),
        "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
            prose.end_marked();
            prose.paragraph();
        }
        "title" | "pre" => prose.paragraph(),
        name if BLOCKS.contains(&name) => prose.paragraph(),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn text_is_extracted_without_markup_scripts_and_styles() {
        let html = "<!doctype html><title>A  title</title><style>p{}</style><h2>Head&amp;line</h2>\
                    <p>One <b>bold</b>\n word<script>alert('<p>')</script></p><ul><li>first<li>second</ul>\
                    <table><tr><th>a<th>b</tr><tr><td>1<td><p>2</p></tr></table><pre>  x\n  y</pre>";
        assert_eq!(
            read(html).texts.concat(),
            "A title\n\n## Head&line\n\nOne bold word\n\n- first\n- second\n\na\tb\n1\t2\n\n  x\n  y"
        );
    }

    #[test]
    fn only_svg_and_math_can_be_closed_in_their_start_tag() {
        let html = "<p>One<svg/> two<math display=block /> three<svg><svg/><text>no</text></svg> four<script/>no</script> five";
        assert_eq!(read(html).texts.concat(), "One two three four five");
    }

    #[test]
    fn unclosed_and_deeply_nested_elements_do_no_harm() {
        let html = format!("<html>{}deep{}", "<div>".repeat(100_000), "<table><tr><td>".repeat(100_000));
        assert!(read(&html).texts.concat().starts_with("deep"));
    }
}
