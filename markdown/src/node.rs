//! The rendered form of Markdown: a tree of elements and text, and its HTML. It is plain data for the server and the
//! browser.
//!
//! All elements have the same type. With a view type per tag, the page would contain the code once per tag.

use std::borrow::Cow;

use crate::marks::bounded_text;

/// A node of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    /// Text. It is never empty, and never adjacent to other text, because an HTML parser would merge the two.
    Text(String),
    /// An element with its children.
    Element(Element),
}

/// An element. Its tag and its attributes' names are constants of this crate. Everything else may be untrusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) tag: &'static str,
    pub(crate) attributes: Vec<(&'static str, Cow<'static, str>)>,
    pub(crate) children: Vec<Node>,
}

/// Creates an empty element.
pub(crate) fn element(tag: &'static str) -> Element {
    Element { tag, attributes: Vec::new(), children: Vec::new() }
}

impl Element {
    /// Adds an attribute.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        self.attributes.push((name, value.into()));
        self
    }

    /// Sets the children.
    pub(crate) fn with_children(mut self, children: Vec<Node>) -> Self {
        self.children = children;
        self
    }

    /// Sets this text as the only child, with bounded runs of marks.
    pub(crate) fn with_text(self, text: impl Into<String>) -> Self {
        let text = bounded_text(text.into());
        if text.is_empty() { self } else { self.with_children(vec![Node::Text(text)]) }
    }
}

impl From<Element> for Node {
    fn from(element: Element) -> Self {
        Self::Element(element)
    }
}

/// Writes nodes as HTML. Recursion is bounded, because `render` bounds the depth of nodes.
pub(crate) fn write_html(nodes: &[Node], html: &mut String) {
    for node in nodes {
        match node {
            Node::Text(text) => {
                html_escape::encode_text_to_string(text, html);
            }
            Node::Element(element) => write_element(element, html),
        }
    }
}

fn write_element(element: &Element, html: &mut String) {
    html.push('<');
    html.push_str(element.tag);
    for (name, value) in &element.attributes {
        html.push(' ');
        html.push_str(name);
        html.push_str("=\"");
        html_escape::encode_double_quoted_attribute_to_string(value, html);
        html.push('"');
    }
    html.push('>');
    if matches!(element.tag, "br" | "hr" | "input") {
        return;
    }
    write_html(&element.children, html);
    html.push_str("</");
    html.push_str(element.tag);
    html.push('>');
}
