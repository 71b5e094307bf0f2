//! Builds the elements that surround Markdown text on the page: code blocks with their toolbar, tables, links,
//! formulas, and check boxes.

use pulldown_cmark::Alignment;
use tallybook_nodes::{Element, Node, bounded, element};

use crate::{Labels, math::Formula};

/// Number of lines of code that share an element. So only the last element changes while code grows.
const LINES_TOGETHER: usize = 40;
/// Maximum length of a table's accessible name, which its column headers form, in bytes.
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

/// Builds the element of a formula, with its source as text. The typesetter later replaces the text, which this crate
/// does not track. So the source is also in an attribute: if the formula changes, the attribute differs, and the whole
/// element is redrawn.
pub(crate) fn formula_in_words(Formula { tex, text, display, .. }: &Formula) -> Element {
    let mut place = element("span").with("class", "math");
    if *display {
        place = place.with("data-display", "");
    }
    place.with("data-tex", bounded(tex).into_owned()).with_text(text)
}

/// Builds a code block with its language, and buttons to wrap lines, download, and copy. The page handles all clicks
/// with one listener, so many buttons cost nothing.
pub(crate) fn code(label: String, code: Vec<Node>, labels: &Labels) -> Element {
    let code = code.into_iter().flat_map(|node| match node {
        Node::Text(text) => in_parts(text),
        Node::Element(_) => vec![node],
    });
    let tools = element("span").with("class", "code-tools").with_children(vec![
        button("wrap", "wrap-code").with("aria-pressed", "false").with_text(&labels.wrap).into(),
        button("download", "download-code").with_text(&labels.download).into(),
        copy_button("copy-code", &labels.copy, labels),
    ]);
    let bar = vec![element("span").with("class", "code-language").with_text(label).into(), tools.into()];
    element("div").with("class", "code").with_children(vec![
        element("div").with("class", "code-bar").with_children(bar).into(),
        // A scrolling element must be reachable with the keyboard.
        element("pre")
            .with("tabindex", "0")
            .with_children(vec![element("code").with_children(code.collect()).into()])
            .into(),
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
        .with_children(vec![
            element("span").with("class", "copy-label").with_text(label).into(),
            element("span").with("class", "copy-done").with_text(&labels.copied).into(),
        ])
        .into()
}

/// Splits text into elements of [`LINES_TOGETHER`] complete lines. The rest stays text.
fn in_parts(text: String) -> Vec<Node> {
    let ends: Vec<usize> =
        text.match_indices('\n').map(|(at, _)| at + 1).skip(LINES_TOGETHER - 1).step_by(LINES_TOGETHER).collect();
    if ends.is_empty() {
        return vec![Node::Text(text)];
    }
    let mut nodes = Vec::with_capacity(ends.len() + 1);
    let mut start = 0;
    for end in ends {
        nodes.push(element("span").with("class", "lines").with_text(&text[start..end]).into());
        start = end;
    }
    if start < text.len() {
        nodes.push(Node::Text(text[start..].to_owned()));
    }
    nodes
}

/// Builds an element whose side depends on the direction of its text.
pub(crate) fn sided(tag: &'static str) -> Element {
    element(tag).with("dir", "auto")
}

pub(crate) fn table(mut rows: Vec<Node>, labels: &Labels) -> Element {
    let name = table_name(&rows, labels);
    // Includes the elements that an HTML parser would add, because server and browser must have the same tree.
    let body = rows.split_off(rows.len().min(1));
    rows.push(element("tbody").with_children(body).into());
    let table = element("div")
        .with("class", "table")
        .with("tabindex", "0")
        // Has the role `group` instead of a landmark role: a page should have only a few landmarks, each with its own
        // name.
        .with("role", "group")
        .with("aria-label", name)
        .with_children(vec![element("table").with_children(rows).into()]);
    let copy = copy_button("copy-table", &labels.copy_csv, labels);
    sided("div").with("class", "table-block").with_children(vec![table.into(), copy])
}

/// Returns the accessible name of a table: its column headers, because Markdown has no captions.
fn table_name(rows: &[Node], labels: &Labels) -> String {
    let mut heads = String::new();
    if let Some(head) = rows.first() {
        push_words(head, &mut heads);
    }
    if heads.is_empty() { labels.table.clone() } else { format!("{}: {heads}", labels.table) }
}

/// Adds the text of a node's cells, up to [`MAX_NAME_BYTES`]. Recursion is bounded, because `render` bounds the depth
/// of a block.
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
