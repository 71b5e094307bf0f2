//! Bounds what a text becomes on the page: a few bytes of Markdown can become hundreds of HTML, as for code with its buttons.

use crate::{
    Labels,
    node::{Element, Node, element},
};

/// Bytes of HTML that one text may become; the rest of the text is left out, which a sentence says.
pub(crate) const MAX_HTML_BYTES: usize = 4 * 1024 * 1024;

/// Bytes that one of the characters that HTML escapes becomes.
const ESCAPED: usize = 6;

/// The part of a text that is drawn, in bytes of HTML.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Size(usize);

impl Size {
    /// Adds a block, if there is room for it.
    pub(crate) fn add(&mut self, bytes: usize) -> bool {
        let sum = self.0.saturating_add(bytes);
        if sum > MAX_HTML_BYTES {
            return false;
        }
        self.0 = sum;
        true
    }
}

/// Returns about how many bytes nodes have as HTML, never less. They are nested no deeper than `render` allows.
pub(crate) fn html_bytes(nodes: &[Node]) -> usize {
    nodes.iter().map(of_node).sum()
}

fn of_node(node: &Node) -> usize {
    let Element { tag, attributes, children } = match node {
        Node::Text(text) => return of_text(text),
        Node::Element(element) => element,
    };
    let attributes: usize = attributes.iter().map(|(name, value)| name.len() + of_text(value) + 4).sum();
    2 * tag.len() + 5 + attributes + html_bytes(children)
}

fn of_text(text: &str) -> usize {
    let escaped = text.bytes().filter(|byte| matches!(byte, b'&' | b'<' | b'>' | b'"')).count();
    text.len() + escaped * (ESCAPED - 1)
}

/// Returns the sentence in the place of the missing rest.
pub(crate) fn left_out(labels: &Labels) -> Vec<Node> {
    vec![element("p").with("class", "note").with("data-testid", "text-left-out").saying(&labels.left_out).into()]
}

#[cfg(test)]
mod tests {
    use super::{MAX_HTML_BYTES, Size, html_bytes};
    use crate::node::{element, write_html};

    #[test]
    fn nodes_have_no_more_bytes_than_counted() {
        let nodes = [
            element("a").with("href", "https://a.b/?\"&<>").saying("<&>\" words").into(),
            element("div").around(vec![element("br").into(), element("hr").into()]).into(),
        ];
        let mut html = String::new();
        write_html(&nodes, &mut html);
        assert!((html.len()..html.len() + 100).contains(&html_bytes(&nodes)), "{} {html}", html_bytes(&nodes));
    }

    #[test]
    fn a_block_that_does_not_fit_takes_no_room() {
        let mut size = Size::default();
        assert!(size.add(MAX_HTML_BYTES - 1));
        assert!(!size.add(2));
        assert!(size.add(1));
    }
}
