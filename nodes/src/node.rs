//! The tree of elements and text, and its HTML.
//!
//! All elements have the same type. With a view type per tag, the page would contain the code once per tag.

use std::borrow::Cow;

use crate::{long_words::has_long_word, marks::bounded_text};

/// Attribute of elements with text that contains a long word. The style turns kerning off in them.
const LONG_WORD: &str = "data-long-word";

/// A node of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// Text. It is never empty, and never adjacent to other text, because an HTML parser would merge the two.
    Text(String),
    /// An element with its children.
    Element(Element),
}

/// An element. Its tag and its attributes' names are constants of the program. Everything else may be untrusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// Name of the tag, in lower case.
    pub tag: &'static str,
    /// Names and values of the attributes. An attribute that is only there or not has an empty value.
    pub attributes: Vec<(&'static str, Cow<'static, str>)>,
    /// Child nodes; always empty in a slot.
    pub children: Vec<Node>,
    /// `true` if other code creates what is in the element, for example the drawing of a growing Markdown text. Updates
    /// leave the content of a slot as it is.
    pub is_slot: bool,
}

/// Creates an empty element.
pub fn element(tag: &'static str) -> Element {
    Element { tag, attributes: Vec::new(), children: Vec::new(), is_slot: false }
}

impl Element {
    /// Adds an attribute.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        self.attributes.push((name, value.into()));
        self
    }

    /// Adds an attribute if there is a value.
    #[must_use]
    pub fn with_some(self, name: &'static str, value: Option<impl Into<Cow<'static, str>>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Adds an attribute without a value, such as `hidden`, if `is_set`.
    #[must_use]
    pub fn with_mark(self, name: &'static str, is_set: bool) -> Self {
        if is_set { self.with(name, "") } else { self }
    }

    /// Sets the children.
    #[must_use]
    pub fn with_children(self, children: Vec<Node>) -> Self {
        let is_long = children.iter().any(|child| matches!(child, Node::Text(text) if has_long_word(text)));
        Self { children, ..self.marked(is_long) }
    }

    /// Adds a child.
    #[must_use]
    pub fn with_child(mut self, child: impl Into<Node>) -> Self {
        self.children.push(child.into());
        self
    }

    /// Adds a child if there is one.
    #[must_use]
    pub fn with_child_if_any(self, child: Option<impl Into<Node>>) -> Self {
        match child {
            Some(child) => self.with_child(child),
            None => self,
        }
    }

    /// Adds text, with bounded runs of marks. It becomes part of a text that is there already.
    #[must_use]
    pub fn with_text(mut self, text: impl Into<String>) -> Self {
        let text = bounded_text(text.into());
        match self.children.last_mut() {
            _ if text.is_empty() => {}
            Some(Node::Text(before)) => before.push_str(&text),
            Some(Node::Element(_)) | None => self.children.push(Node::Text(text)),
        }
        let has_long_word = matches!(self.children.last(), Some(Node::Text(text)) if has_long_word(text));
        self.marked(has_long_word)
    }

    /// Marks the element, once, if it has a long word.
    fn marked(self, has_long_word: bool) -> Self {
        let is_new = has_long_word && self.attribute(LONG_WORD).is_none();
        self.with_mark(LONG_WORD, is_new)
    }

    /// Makes this a slot: other code creates its content.
    #[must_use]
    pub fn slot(mut self) -> Self {
        self.is_slot = true;
        self
    }

    /// Returns the value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(other, _)| *other == name).map(|(_, value)| value.as_ref())
    }
}

impl From<Element> for Node {
    fn from(element: Element) -> Self {
        Self::Element(element)
    }
}

impl Node {
    /// Returns the ID of an element, by which an update recognizes it.
    pub(crate) fn key(&self) -> Option<&str> {
        match self {
            Self::Text(_) => None,
            Self::Element(element) => element.attribute("id"),
        }
    }
}

/// Writes nodes as HTML, with empty slots. Recursion is bounded by the depth of the tree, which its author bounds.
pub fn write_html(nodes: &[Node], html: &mut String) {
    write_html_with(nodes, html, &mut |_, _| {});
}

/// Writes nodes as HTML. `fill` writes the content of each slot.
pub fn write_html_with(nodes: &[Node], html: &mut String, fill: &mut dyn FnMut(&Element, &mut String)) {
    for node in nodes {
        match node {
            Node::Text(text) => {
                html_escape::encode_text_to_string(text, html);
            }
            Node::Element(element) => write_element(element, html, fill),
        }
    }
}

fn write_element(element: &Element, html: &mut String, fill: &mut dyn FnMut(&Element, &mut String)) {
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
    if element.is_slot {
        fill(element, html);
    } else {
        write_html_with(&element.children, html, fill);
    }
    html.push_str("</");
    html.push_str(element.tag);
    html.push('>');
}

#[cfg(test)]
mod tests {
    use super::{Node, element, write_html, write_html_with};

    fn html(nodes: &[Node]) -> String {
        let mut html = String::new();
        write_html(nodes, &mut html);
        html
    }

    #[test]
    fn text_and_values_are_escaped() {
        let link = element("a").with("title", "\"<&").with_text("<b> & \"c\"");
        assert_eq!(html(&[link.into()]), "<a title=\"&quot;&lt;&amp;\">&lt;b&gt; &amp; \"c\"</a>");
    }

    #[test]
    fn optional_parts_are_left_out() {
        let none = None::<&'static str>;
        let button = element("button").with_some("title", none).with_mark("hidden", false).with_mark("disabled", true);
        assert_eq!(
            html(&[button.with_text("").with_text("a").with_text("b").into()]),
            "<button disabled=\"\">ab</button>"
        );
    }

    #[test]
    fn other_code_fills_slots() {
        let nodes = [element("div").with("id", "prose-1").slot().into(), element("br").into()];
        let mut html = String::new();
        write_html_with(&nodes, &mut html, &mut |slot, html| html.push_str(slot.attribute("id").unwrap_or_default()));
        assert_eq!(html, "<div id=\"prose-1\">prose-1</div><br>");
    }
}
