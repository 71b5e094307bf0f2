//! Parts of the page that provide their element themselves, instead of having Leptos create it. Most of them are
//! elements that the server rendered and that stay (`browser::attach`).

use std::any::Any;

use leptos::{
    attr::{
        Attribute, AttributeValue,
        any_attribute::{AnyAttribute, IntoAnyAttribute},
        custom::custom_attribute,
    },
    html,
    prelude::*,
    tachys::{
        hydration::Cursor,
        view::{Position, PositionState},
    },
};
use web_sys::{Element, Node};

use crate::browser;

/// A part of a view that provides its element itself.
pub(crate) struct OwnElement {
    /// On the server, the element as HTML.
    html: String,
    build: Box<dyn FnOnce() -> OwnElementState + Send>,
}

/// The element of a part.
pub(crate) struct OwnElementState {
    element: Element,
    /// State of its attributes and children, which ends with the element.
    _owned: Box<dyn Any>,
}

impl OwnElement {
    /// Creates a part from its HTML, which the server uses, and from the function that returns its element in a
    /// browser.
    pub(crate) fn new(html: String, build: impl FnOnce() -> Element + Send + 'static) -> Self {
        let build = || OwnElementState { element: build(), _owned: Box::new(()) };
        Self { html, build: Box::new(build) }
    }
}

/// An element that stays as the server rendered it. In the browser, the server's element with the ID gets the
/// attributes and listeners, and its children are built again. If there is none, the browser creates it. Views that
/// change must not return it, because each time they would create another element.
pub(crate) struct Attached {
    tag: &'static str,
    id: &'static str,
    attributes: Vec<AnyAttribute>,
}

impl Attached {
    /// Creates an element without children.
    pub(crate) fn new(tag: &'static str, id: &'static str) -> Self {
        Self { tag, id, attributes: Vec::new() }.attr("id", id).attr(browser::PART, "")
    }

    /// Adds an attribute.
    pub(crate) fn attr(self, name: &'static str, value: impl AttributeValue) -> Self {
        self.with(custom_attribute(name, value))
    }

    /// Adds any other attribute: a class, a property, a listener, or a reference.
    pub(crate) fn with(mut self, attribute: impl Attribute) -> Self {
        self.attributes.push(attribute.into_any_attr());
        self
    }

    /// Returns the element with its children.
    pub(crate) fn containing(self, children: impl IntoView + 'static) -> AnyView {
        let children = children.into_any();
        if browser::IS_HERE {
            let build = move || self.build(children);
            OwnElement { html: String::new(), build: Box::new(build) }.into_any()
        } else {
            html::custom(self.tag).add_any_attr(self.attributes).child(children).into_any()
        }
    }

    /// Returns the element without children.
    pub(crate) fn empty(self) -> AnyView {
        if browser::IS_HERE {
            let build = move || {
                let (element, attributes) = self.element();
                OwnElementState { element, _owned: Box::new(attributes) }
            };
            OwnElement { html: String::new(), build: Box::new(build) }.into_any()
        } else {
            html::custom(self.tag).add_any_attr(self.attributes).into_any()
        }
    }

    fn build(self, children: AnyView) -> OwnElementState {
        let (element, attributes) = self.element();
        let mut children = children.build();
        children.mount(&element, None);
        browser::replace_children(&element);
        OwnElementState { element, _owned: Box::new((attributes, children)) }
    }

    /// Returns the element with its attributes, and their state.
    #[expect(clippy::expect_used, reason = "a page cannot be without elements")]
    fn element(self) -> (Element, <Vec<AnyAttribute> as Attribute>::State) {
        let Self { tag, id, attributes } = self;
        let create = || document().create_element(tag).expect("views are built in a browser only");
        let element = browser::attach(id).unwrap_or_else(create);
        let attributes = attributes.build(&element);
        (element, attributes)
    }
}

impl Render for OwnElement {
    type State = OwnElementState;

    fn build(self) -> OwnElementState {
        (self.build)()
    }

    fn rebuild(self, state: &mut OwnElementState) {
        let mut new = self.build();
        state.insert_before_this(&mut new);
        state.unmount();
        *state = new;
    }
}

impl RenderHtml for OwnElement {
    type AsyncOutput = Self;
    type Owned = Self;

    const MIN_LENGTH: usize = 0;

    fn dry_resolve(&mut self) {}

    async fn resolve(self) -> Self {
        self
    }

    fn to_html_with_buf(
        self,
        html: &mut String,
        position: &mut Position,
        _escape: bool,
        _mark_branches: bool,
        _extra_attributes: Vec<AnyAttribute>,
    ) {
        html.push_str(&self.html);
        *position = Position::NextChild;
    }

    /// Leptos' hydration of a whole page, which this page does not use; see `app`.
    fn hydrate<const FROM_SERVER: bool>(self, _cursor: &Cursor, _position: &PositionState) -> OwnElementState {
        self.build()
    }

    fn into_owned(self) -> Self {
        self
    }
}

impl AddAnyAttr for OwnElement {
    type Output<New: Attribute> = Self;

    fn add_any_attr<New: Attribute>(self, _attribute: New) -> Self {
        self
    }
}

impl Mountable for OwnElementState {
    fn unmount(&mut self) {
        self.element.remove();
    }

    fn mount(&mut self, parent: &Element, marker: Option<&Node>) {
        browser::insert(&self.element, parent, marker);
    }

    fn insert_before_this(&self, child: &mut dyn Mountable) -> bool {
        self.element.insert_before_this(child)
    }

    fn elements(&self) -> Vec<Element> {
        vec![self.element.clone()]
    }
}
