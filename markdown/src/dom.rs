//! Creates and updates DOM nodes in the browser. An update changes only the nodes that differ. So a selection in
//! unchanged text survives, and the cost of a growing text depends only on the added part.

use std::borrow::Cow;

use wasm_bindgen::prelude::*;
use web_sys::{Document, Element};

use crate::node::{self, Node};

#[wasm_bindgen]
extern "C" {
    /// Makes the typesetter highlight the code and typeset the formulas in a finished element. The function is in the
    /// page's script, which loads the typesetter if the element has code or formulas.
    #[wasm_bindgen(js_namespace = window)]
    pub fn typeset(place: &Element);
}

/// A node on the page, together with the data from which it was created.
pub(crate) enum Drawn {
    Text { place: web_sys::Text, text: String },
    Element { place: Element, tag: &'static str, attributes: Attributes, children: Vec<Drawn> },
}

type Attributes = Vec<(&'static str, Cow<'static, str>)>;

/// Adds a container element for a part of a text to `place`. Marks it as measured once the browser has laid it out,
/// which is in the frame after the next one.
pub(crate) fn append_part(place: &Element) -> Result<Element, JsValue> {
    let part = document()?.create_element("div")?;
    part.set_class_name("part");
    place.append_child(&part)?;
    let measured = part.clone();
    in_next_frame(move || {
        in_next_frame(move || {
            let _ = measured.set_attribute("data-measured", "");
        });
    });
    Ok(part)
}

fn in_next_frame(run: impl FnOnce() + 'static) {
    if let Some(window) = web_sys::window() {
        let _ = window.request_animation_frame(Closure::once_into_js(run).unchecked_ref());
    }
}

/// Updates the nodes in `drawn`, which are in `parent` before `next`, to `nodes`. Returns an error if other code, such
/// as a translation extension, has moved the nodes.
pub(crate) fn show(
    nodes: Vec<Node>,
    drawn: &mut Vec<Drawn>,
    parent: &Element,
    next: Option<&web_sys::Node>,
) -> Result<(), JsValue> {
    let wanted = nodes.len();
    for (index, node) in nodes.into_iter().enumerate() {
        if let Some(old) = drawn.get_mut(index) {
            if let Some(node) = old.turn_into(node)? {
                let new = build(node)?;
                parent.replace_child(new.place(), old.place())?;
                *old = new;
            }
        } else {
            let new = build(node)?;
            parent.insert_before(new.place(), next)?;
            drawn.push(new);
        }
    }
    for gone in drawn.drain(wanted..) {
        parent.remove_child(gone.place())?;
    }
    Ok(())
}

impl Drawn {
    pub(crate) fn place(&self) -> &web_sys::Node {
        match self {
            Self::Text { place, .. } => place,
            Self::Element { place, .. } => place,
        }
    }

    /// Updates this node to another one. Returns the other node if that needs a new element.
    fn turn_into(&mut self, node: Node) -> Result<Option<Node>, JsValue> {
        match (self, node) {
            (Self::Text { place, text }, Node::Text(wanted)) => {
                match wanted.strip_prefix(text.as_str()) {
                    Some("") => {}
                    Some(added) => place.append_data(added)?,
                    None => place.set_data(&wanted),
                }
                *text = wanted;
                Ok(None)
            }
            (Self::Element { place, tag, attributes, children }, Node::Element(wanted))
                if *tag == wanted.tag && *attributes == wanted.attributes =>
            {
                show(wanted.children, children, place, None)?;
                Ok(None)
            }
            (_, node) => Ok(Some(node)),
        }
    }
}

fn build(node: Node) -> Result<Drawn, JsValue> {
    let document = document()?;
    match node {
        Node::Text(text) => Ok(Drawn::Text { place: document.create_text_node(&text), text }),
        Node::Element(node::Element { tag, attributes, children }) => {
            let place = document.create_element(tag)?;
            for (name, value) in &attributes {
                place.set_attribute(name, value)?;
            }
            let mut drawn = Vec::with_capacity(children.len());
            show(children, &mut drawn, &place, None)?;
            Ok(Drawn::Element { place, tag, attributes, children: drawn })
        }
    }
}

fn document() -> Result<Document, JsValue> {
    web_sys::window().and_then(|window| window.document()).ok_or(JsValue::UNDEFINED)
}
