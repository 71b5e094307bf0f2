//! Bounds the size of a text as HTML. A few bytes of Markdown can become hundreds of bytes of HTML, as for code with
//! its buttons.

use tallybook_nodes::{Element, Node, element};

use crate::Labels;

/// Maximum size of a text as HTML, in bytes. A notice replaces the rest.
pub(crate) const MAX_HTML_BYTES: usize = 4 * 1024 * 1024;

/// Maximum size of an escaped character, in bytes.
const ESCAPED: usize = 6;

/// Size of the rendered part of a text, in bytes of HTML.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Size(usize);

impl Size {
    /// Adds the size of a block if it fits. Returns `false` if it does not.
    pub(crate) fn add(&mut self, bytes: usize) -> bool {
        let sum = self.0.saturating_add(bytes);
        if sum > MAX_HTML_BYTES {
            return false;
        }
        self.0 = sum;
        true
    }
}

/// Returns an upper bound of the nodes' size as HTML, in bytes. Recursion is bounded, because `render` bounds the
/// depth.
pub(crate) fn html_bytes(nodes: &[Node]) -> usize {
    nodes.iter().map(of_node).sum()
}

fn of_node(node: &Node) -> usize {
    let Element { tag, attributes, children, is_slot: _ } = match node {
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

/// Returns the notice that replaces the rest.
pub(crate) fn left_out(labels: &Labels) -> Vec<Node> {
    vec![element("p").with("class", "note").with("data-testid", "text-left-out").with_text(&labels.left_out).into()]
}

#[cfg(test)]
mod tests {
    use tallybook_nodes::{element, write_html};

    use super::{MAX_HTML_BYTES, Size, html_bytes};

    #[test]
    fn the_calculated_size_is_an_upper_bound() {
        let nodes = [
            element("a").with("href", "https://a.b/?\"&<>").with_text("<&>\" words").into(),
            element("div").with_children(vec![element("br").into(), element("hr").into()]).into(),
        ];
        let mut html = String::new();
        write_html(&nodes, &mut html);
        assert!((html.len()..html.len() + 100).contains(&html_bytes(&nodes)), "{} {html}", html_bytes(&nodes));
    }

    #[test]
    fn a_block_that_does_not_fit_is_not_counted() {
        let mut size = Size::default();
        assert!(size.add(MAX_HTML_BYTES - 1));
        assert!(!size.add(2));
        assert!(size.add(1));
    }
}
