//! Nodes on the page of a browser: drawn, and then changed only where they differ, so that a selection in what stands
//! already is left alone and a text that grows costs what is added to it.

use std::borrow::Cow;

use wasm_bindgen::prelude::*;
use web_sys::{Document, Element};

use crate::node::{self, Node};

#[wasm_bindgen]
extern "C" {
    /// Has the typesetter colour the code and set the formulas in a place that is finished. It stands in the page's
    /// script, which loads that program when there are any.
    #[wasm_bindgen(js_namespace = window)]
    pub fn typeset(place: &Element);
}

/// A node that stands on the page, and what it was drawn from.
pub(crate) enum Drawn {
    Text { place: web_sys::Text, text: String },
    Element { place: Element, tag: &'static str, attributes: Attributes, children: Vec<Drawn> },
}

type Attributes = Vec<(&'static str, Cow<'static, str>)>;

/// Adds an element for a part of a text to `place`. It is marked as measured once it was laid out: in the frame after the
/// next one.
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

/// Makes `drawn`, which stand in `parent` in front of `next`, show `nodes`. It fails when somebody else, as a translating
/// extension does, has moved what was drawn.
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

    /// Shows another node in the same place; gives it back when that takes a new element.
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
