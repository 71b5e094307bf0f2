//! What Markdown becomes: a tree of elements and text, plain data for server and browser alike, and its HTML.
//!
//! One type for all elements, where a view type per tag would be compiled into the page once per tag.

use std::borrow::Cow;

use crate::marks::bounded_text;

/// A node of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    /// Text, never empty, and with no text beside it: an HTML parser would make one node of both.
    Text(String),
    /// An element with what is in it.
    Element(Element),
}

/// An element. Its tag and the names of its attributes are the program's own, everything else may come from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) tag: &'static str,
    pub(crate) attributes: Vec<(&'static str, Cow<'static, str>)>,
    pub(crate) children: Vec<Node>,
}

/// An element with nothing in it yet.
pub(crate) fn element(tag: &'static str) -> Element {
    Element { tag, attributes: Vec::new(), children: Vec::new() }
}

impl Element {
    /// The same with one more attribute.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        self.attributes.push((name, value.into()));
        self
    }

    /// The same around these nodes.
    pub(crate) fn around(mut self, children: Vec<Node>) -> Self {
        self.children = children;
        self
    }

    /// Puts the element around this text, with bounded runs of marks.
    pub(crate) fn saying(self, text: impl Into<String>) -> Self {
        let text = bounded_text(text.into());
        if text.is_empty() { self } else { self.around(vec![Node::Text(text)]) }
    }
}

impl From<Element> for Node {
    fn from(element: Element) -> Self {
        Self::Element(element)
    }
}

/// Writes nodes as HTML. They are nested no deeper than `render` allows.
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
