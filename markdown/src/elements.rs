//! The elements that stand around Markdown's words on the page: code with its bar, tables, links, formulas, check boxes.

use pulldown_cmark::Alignment;

use crate::{
    Labels,
    marks::bounded,
    math::Formula,
    node::{Element, Node, element},
};

/// So many lines of code stand in an element of their own. While code grows only its last lines are touched.
const LINES_TOGETHER: usize = 40;
/// How much of the heads of its columns a table is called by.
const MAX_NAME_BYTES: usize = 80;

pub(crate) fn check_box(done: bool, labels: &Labels) -> Element {
    let mut check_box = element("input").with("type", "checkbox").with("disabled", "");
    if done {
        check_box = check_box.with("checked", "");
    }
    check_box.with("aria-label", if done { labels.task_done.clone() } else { labels.task_open.clone() })
}

pub(crate) fn link(address: String, title: String) -> Element {
    let mut link = element("a").with("href", address);
    if !title.is_empty() {
        link = link.with("title", title);
    }
    link.with("target", "_blank").with("rel", "noopener noreferrer nofollow")
}

/// A formula as it is written. The typesetter puts another shape in the place of the text, of which the drawing knows
/// nothing; when the formula changes, so does the attribute, and the whole element is drawn anew.
pub(crate) fn formula_in_words(Formula { tex, text, display, .. }: &Formula) -> Element {
    let mut place = element("span").with("class", "math");
    if *display {
        place = place.with("data-display", "");
    }
    place.with("data-tex", bounded(tex).into_owned()).saying(text)
}

/// Code with its language and buttons that break its lines, save it and copy it. The clicks are heard by the page in one
/// place, so that a thousand buttons cost nothing.
pub(crate) fn code(label: String, code: Vec<Node>, labels: &Labels) -> Element {
    let code = code.into_iter().flat_map(|node| match node {
        Node::Text(text) => in_parts(text),
        Node::Element(_) => vec![node],
    });
    let tools = element("span").with("class", "code-tools").around(vec![
        button("wrap", "wrap-code").with("aria-pressed", "false").saying(&labels.wrap).into(),
        button("download", "download-code").saying(&labels.download).into(),
        copy_button("copy-code", &labels.copy, labels),
    ]);
    let bar = vec![element("span").with("class", "code-language").saying(label).into(), tools.into()];
    element("div").with("class", "code").around(vec![
        element("div").with("class", "code-bar").around(bar).into(),
        // What scrolls must be reachable with the keyboard.
        element("pre").with("tabindex", "0").around(vec![element("code").around(code.collect()).into()]).into(),
    ])
}

fn button(does: &str, name: &'static str) -> Element {
    element("button")
        .with("type", "button")
        .with("class", format!("button quiet small {does}"))
        .with("data-testid", name)
}

fn copy_button(name: &'static str, label: &str, labels: &Labels) -> Node {
    button("copy", name)
        .around(vec![
            element("span").with("class", "copy-label").saying(label).into(),
            element("span").with("class", "copy-done").saying(&labels.copied).into(),
        ])
        .into()
}

/// Text with each [`LINES_TOGETHER`] whole lines in an element of their own.
fn in_parts(text: String) -> Vec<Node> {
    let ends: Vec<usize> =
        text.match_indices('\n').map(|(at, _)| at + 1).skip(LINES_TOGETHER - 1).step_by(LINES_TOGETHER).collect();
    if ends.is_empty() {
        return vec![Node::Text(text)];
    }
    let mut nodes = Vec::with_capacity(ends.len() + 1);
    let mut start = 0;
    for end in ends {
        nodes.push(element("span").with("class", "lines").saying(&text[start..end]).into());
        start = end;
    }
    if start < text.len() {
        nodes.push(Node::Text(text[start..].to_owned()));
    }
    nodes
}

/// An element that stands on the side on which its words begin.
pub(crate) fn sided(tag: &'static str) -> Element {
    element(tag).with("dir", "auto")
}

pub(crate) fn table(mut rows: Vec<Node>, labels: &Labels) -> Element {
    let name = table_name(&rows, labels);
    // The parts that an HTML parser would add by itself are written out: both sides must have the same tree.
    let body = rows.split_off(rows.len().min(1));
    rows.push(element("tbody").around(body).into());
    let table = element("div")
        .with("class", "table")
        .with("tabindex", "0")
        // No landmark: of those a page should have few, and no two of one name.
        .with("role", "group")
        .with("aria-label", name)
        .around(vec![element("table").around(rows).into()]);
    let copy = copy_button("copy-table", &labels.copy_csv, labels);
    sided("div").with("class", "table-block").around(vec![table.into(), copy])
}

/// What a table is called: by the heads of its columns, since Markdown knows no captions.
fn table_name(rows: &[Node], labels: &Labels) -> String {
    let mut heads = String::new();
    if let Some(head) = rows.first() {
        push_words(head, &mut heads);
    }
    if heads.is_empty() { labels.table.clone() } else { format!("{}: {heads}", labels.table) }
}

/// Adds the words of a node's cells, the first few of them. It is nested no deeper than a block may be (`render`).
fn push_words(node: &Node, words: &mut String) {
    match node {
        Node::Text(text) => {
            let room = MAX_NAME_BYTES.saturating_sub(words.len());
            words.push_str(&text[..text.floor_char_boundary(room.min(text.len()))]);
        }
        Node::Element(element) => {
            if element.tag == "th" && !words.is_empty() && !element.children.is_empty() {
                words.push_str(", ");
            }
            for child in &element.children {
                if words.len() < MAX_NAME_BYTES {
                    push_words(child, words);
                }
            }
        }
    }
}

pub(crate) fn aligned(cell: Element, alignment: Alignment) -> Element {
    match alignment {
        Alignment::None | Alignment::Left => cell,
        Alignment::Center => cell.with("data-align", "center"),
        Alignment::Right => cell.with("data-align", "right"),
    }
}
