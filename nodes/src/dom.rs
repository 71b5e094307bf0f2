//! Creates, updates and adopts DOM nodes in the browser. An update changes only what differs. So a selection in
//! unchanged text survives, the focus stays, and the cost depends only on the difference.

use std::{borrow::Cow, collections::HashSet};

use wasm_bindgen::prelude::*;
use web_sys::Document;

use crate::node::{Element, Node};

/// Tag of the element that Chrome's translation puts in place of a text.
const TRANSLATION_TAG: &str = "font";

/// Tags that are drawings, and the namespace in which browsers create them.
const DRAWING_TAGS: [&str; 2] = ["svg", "path"];
const DRAWING_NAMESPACE: &str = "http://www.w3.org/2000/svg";

/// A node on the page, together with the data from which it was created.
pub enum Drawn {
    /// A text.
    Text {
        /// The node on the page: a text, or the element with which the browser's translation replaced it.
        place: web_sys::Node,
        /// Its text, before a translation.
        text: String,
    },
    /// An element.
    Element {
        /// The element on the page.
        place: web_sys::Element,
        /// Name of its tag.
        tag: &'static str,
        /// Its attributes. Other code may have set more on the page.
        attributes: Attributes,
        /// Its children; none of a slot.
        children: Vec<Drawn>,
    },
}

type Attributes = Vec<(&'static str, Cow<'static, str>)>;

/// Handling of an element whose attributes differ from those that it should have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Changed {
    /// Its attributes are set. Its children are updated.
    Updated,
    /// A new element replaces it.
    Replaced,
}

/// Updates the nodes in `drawn`, which are in `parent` before `next`, to `nodes`. Elements with an ID are recognized by
/// it: they stay the same elements when others are added or removed before them. Returns an error if other code, such
/// as a translation extension, has moved the nodes.
///
/// # Errors
/// If the browser refuses a change.
pub fn update(
    nodes: Vec<Node>,
    drawn: &mut Vec<Drawn>,
    parent: &web_sys::Element,
    next: Option<&web_sys::Node>,
) -> Result<(), JsValue> {
    show(nodes, drawn, parent, next, Changed::Updated)
}

/// Does the same, but replaces each element whose attributes differ. For content that other code changes once it is
/// finished, as the typesetter changes code.
///
/// # Errors
/// If the browser refuses a change.
pub fn replace_changed(
    nodes: Vec<Node>,
    drawn: &mut Vec<Drawn>,
    parent: &web_sys::Element,
    next: Option<&web_sys::Node>,
) -> Result<(), JsValue> {
    show(nodes, drawn, parent, next, Changed::Replaced)
}

/// Pairs an element on the page with the one whose HTML the server wrote there. Texts that the browser has translated
/// meanwhile stay translated. Returns `None` if the content differs in another way, for example because a browser
/// extension changed it.
pub fn adopt(element: &Element, place: &web_sys::Element) -> Option<Drawn> {
    let children = if element.is_slot { Vec::new() } else { adopt_children(&element.children, place)? };
    Some(Drawn::Element { place: place.clone(), tag: element.tag, attributes: element.attributes.clone(), children })
}

fn adopt_children(nodes: &[Node], parent: &web_sys::Element) -> Option<Vec<Drawn>> {
    let found = parent.child_nodes();
    if usize::try_from(found.length()) != Ok(nodes.len()) {
        return None;
    }
    (0..).zip(nodes).map(|(index, node)| adopt_node(node, found.item(index)?)).collect()
}

fn adopt_node(node: &Node, place: web_sys::Node) -> Option<Drawn> {
    match node {
        Node::Text(text) => {
            let is_same = match place.dyn_ref::<web_sys::Text>() {
                Some(place) => place.data() == *text,
                None => place.node_name().eq_ignore_ascii_case(TRANSLATION_TAG),
            };
            is_same.then(|| Drawn::Text { place, text: text.clone() })
        }
        Node::Element(element) => {
            let place: web_sys::Element = place.dyn_into().ok()?;
            place.tag_name().eq_ignore_ascii_case(element.tag).then(|| adopt(element, &place))?
        }
    }
}

fn show(
    nodes: Vec<Node>,
    drawn: &mut Vec<Drawn>,
    parent: &web_sys::Element,
    next: Option<&web_sys::Node>,
    changed: Changed,
) -> Result<(), JsValue> {
    remove_unwanted(&nodes, drawn, parent)?;
    let wanted = nodes.len();
    for (index, node) in nodes.into_iter().enumerate() {
        if let Some(key) = node.key() {
            bring_forward(key, index, drawn, parent)?;
        }
        let is_other = drawn.get(index).is_some_and(|old| old.key() != node.key());
        match drawn.get_mut(index) {
            Some(old) if !is_other => {
                if let Some(node) = old.turn_into(node, changed)? {
                    let new = build(node)?;
                    parent.replace_child(new.place(), old.place())?;
                    *old = new;
                }
            }
            before => {
                let new = build(node)?;
                parent.insert_before(new.place(), before.map(|before| before.place()).or(next))?;
                drawn.insert(index, new);
            }
        }
    }
    for gone in drawn.drain(wanted..) {
        parent.remove_child(gone.place())?;
    }
    Ok(())
}

/// Removes elements with an ID that no wanted node has. Otherwise, those behind them would have to be moved, and an
/// element that moves loses the focus.
fn remove_unwanted(nodes: &[Node], drawn: &mut Vec<Drawn>, parent: &web_sys::Element) -> Result<(), JsValue> {
    if nodes.len() >= drawn.len() && drawn.iter().zip(nodes).all(|(old, node)| old.key() == node.key()) {
        return Ok(());
    }
    let wanted: HashSet<&str> = nodes.iter().filter_map(Node::key).collect();
    let mut result = Ok(());
    drawn.retain(|old| {
        let stays = old.key().is_none_or(|key| wanted.contains(key));
        if !stays && let Err(error) = parent.remove_child(old.place()) {
            result = Err(error);
        }
        stays
    });
    result
}

/// Moves the element with this ID to `index`, if it is behind that. Text and elements without an ID before it are
/// removed.
fn bring_forward(key: &str, index: usize, drawn: &mut Vec<Drawn>, parent: &web_sys::Element) -> Result<(), JsValue> {
    let behind = drawn.get(index..).unwrap_or_default();
    let Some(ahead) = behind.iter().position(|old| old.key() == Some(key)).filter(|ahead| *ahead > 0) else {
        return Ok(());
    };
    if behind[..ahead].iter().all(|old| old.key().is_none()) {
        for gone in drawn.drain(index..index + ahead) {
            parent.remove_child(gone.place())?;
        }
    } else {
        let moved = drawn.remove(index + ahead);
        parent.insert_before(moved.place(), drawn.get(index).map(Drawn::place))?;
        drawn.insert(index, moved);
    }
    Ok(())
}

impl Drawn {
    /// Returns the node on the page.
    pub fn place(&self) -> &web_sys::Node {
        match self {
            Self::Text { place, .. } => place,
            Self::Element { place, .. } => place,
        }
    }

    /// Updates an element to another one with the same tag.
    ///
    /// # Errors
    /// If the browser refuses a change, or the tag is another one.
    pub fn update_to(&mut self, element: Element) -> Result<(), JsValue> {
        let other = self.turn_into(element.into(), Changed::Updated)?;
        other.map_or(Ok(()), |_| Err(JsValue::UNDEFINED))
    }

    fn key(&self) -> Option<&str> {
        match self {
            Self::Text { .. } => None,
            Self::Element { attributes, .. } => {
                attributes.iter().find(|(name, _)| *name == "id").map(|(_, value)| value.as_ref())
            }
        }
    }

    /// Updates this node to another one. Returns the other node if that needs a new node on the page.
    fn turn_into(&mut self, node: Node, changed: Changed) -> Result<Option<Node>, JsValue> {
        match (self, node) {
            (Self::Text { text, .. }, Node::Text(wanted)) if *text == wanted => Ok(None),
            (Self::Text { place, text }, Node::Text(wanted)) => {
                let Some(place) = place.dyn_ref::<web_sys::Text>() else { return Ok(Some(Node::Text(wanted))) };
                match wanted.strip_prefix(text.as_str()) {
                    Some(added) => place.append_data(added)?,
                    None => place.set_data(&wanted),
                }
                *text = wanted;
                Ok(None)
            }
            (Self::Element { place, tag, attributes, children }, Node::Element(wanted))
                if *tag == wanted.tag && (changed == Changed::Updated || *attributes == wanted.attributes) =>
            {
                set_attributes(place, attributes, wanted.attributes)?;
                if !wanted.is_slot {
                    show(wanted.children, children, place, None, changed)?;
                }
                Ok(None)
            }
            (_, node) => Ok(Some(node)),
        }
    }
}

fn set_attributes(place: &web_sys::Element, held: &mut Attributes, wanted: Attributes) -> Result<(), JsValue> {
    if *held == wanted {
        return Ok(());
    }
    for (name, value) in &wanted {
        if !held.iter().any(|(other, was)| other == name && was == value) {
            place.set_attribute(name, value)?;
        }
    }
    for (name, _) in held.iter() {
        if !wanted.iter().any(|(other, _)| other == name) {
            place.remove_attribute(name)?;
        }
    }
    *held = wanted;
    Ok(())
}

fn build(node: Node) -> Result<Drawn, JsValue> {
    let document = document()?;
    match node {
        Node::Text(text) => Ok(Drawn::Text { place: document.create_text_node(&text).into(), text }),
        Node::Element(Element { tag, attributes, children, is_slot: _ }) => {
            let place = if DRAWING_TAGS.contains(&tag) {
                document.create_element_ns(Some(DRAWING_NAMESPACE), tag)?
            } else {
                document.create_element(tag)?
            };
            for (name, value) in &attributes {
                place.set_attribute(name, value)?;
            }
            let mut drawn = Vec::with_capacity(children.len());
            for child in children {
                let child = build(child)?;
                place.append_child(child.place())?;
                drawn.push(child);
            }
            Ok(Drawn::Element { place, tag, attributes, children: drawn })
        }
    }
}

fn document() -> Result<Document, JsValue> {
    web_sys::window().and_then(|window| window.document()).ok_or(JsValue::UNDEFINED)
}
