//! Markdown as a Leptos view: HTML on the server, drawn while it grows in the browser. What the server drew is taken over as
//! it stands, and needs no drawing.

use std::fmt::Write as _;

use leptos::{
    prelude::{AddAnyAttr, Mountable, Render, RenderHtml},
    tachys::{
        html::attribute::{Attribute, any_attribute::AnyAttribute},
        hydration::Cursor,
        view::{Position, PositionState},
    },
};
use tallybook_markdown::{Drawing, typeset};
use tallybook_protocol::MessageId;
use web_sys::Element;

use crate::{browser, language::Language};

/// Bytes of a page that the server has written, beyond which it draws no more answers.
const MAX_PAGE_BYTES: usize = 16 * 1024 * 1024;

/// A stretch of an answer, as far as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// The row id of its message.
    pub(crate) message: MessageId,
    /// Where in the answer it begins, in bytes.
    pub(crate) start: usize,
    /// Its Markdown.
    pub(crate) text: String,
    /// Whether nothing more is to come.
    pub(crate) complete: bool,
    /// What buttons and labels speak.
    pub(crate) language: Language,
}

impl Stretch {
    /// The id of its element.
    fn id(&self) -> String {
        format!("prose-{}-{}", self.message, self.start)
    }
}

/// A stretch on the page.
pub(crate) struct Prose {
    place: Element,
    /// What draws it; nothing while what the server drew stands there, and when nothing more is to come.
    drawing: Option<Drawing>,
}

impl Prose {
    fn draw(&mut self, stretch: &Stretch) {
        // Told once it is complete, not word by word.
        let _ = if stretch.complete {
            self.place.remove_attribute("aria-busy")
        } else {
            self.place.set_attribute("aria-busy", "true")
        };
        let begin = || Drawing::begin(self.place.clone(), stretch.language.markdown_labels());
        let mut drawing = self.drawing.take().unwrap_or_else(begin);
        drawing.draw(&stretch.text, stretch.complete);
        self.drawing = Some(drawing).filter(|_| !stretch.complete);
    }
}

impl Render for Stretch {
    type State = Prose;

    #[expect(clippy::expect_used, reason = "a page cannot be without elements")]
    fn build(self) -> Prose {
        let id = self.id();
        if let Some(place) = browser::take_drawn(&id) {
            // One that is not complete will be drawn anew.
            if self.complete {
                typeset(&place);
            }
            return Prose { place, drawing: None };
        }
        let place = leptos::prelude::document().create_element("div").expect("views are built in a browser alone");
        place.set_class_name("prose");
        place.set_id(&id);
        let mut prose = Prose { place, drawing: None };
        prose.draw(&self);
        prose
    }

    fn rebuild(self, prose: &mut Prose) {
        prose.draw(&self);
    }
}

impl RenderHtml for Stretch {
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
        let busy = if self.complete { "" } else { " aria-busy=\"true\"" };
        let _ = write!(html, "<div class=\"prose\" id=\"{}\"{busy}>", self.id());
        // What the browser draws later has a bound of its own.
        if html.len() < MAX_PAGE_BYTES {
            tallybook_markdown::write_html(&self.text, &self.id(), &self.language.markdown_labels(), html);
        } else {
            let _ = write!(html, "<p class=\"note\">{}</p>", self.language.text_left_out());
        }
        html.push_str("</div>");
        *position = Position::NextChild;
    }

    /// Leptos' own way of taking a page over, which this page does not go; see `app`.
    fn hydrate<const FROM_SERVER: bool>(self, _cursor: &Cursor, _position: &PositionState) -> Prose {
        self.build()
    }

    fn into_owned(self) -> Self {
        self
    }
}

impl AddAnyAttr for Stretch {
    type Output<New: Attribute> = Self;

    fn add_any_attr<New: Attribute>(self, _attribute: New) -> Self {
        self
    }
}

impl Mountable for Prose {
    fn unmount(&mut self) {
        self.place.unmount();
    }

    fn mount(&mut self, parent: &Element, marker: Option<&web_sys::Node>) {
        self.place.mount(parent, marker);
    }

    fn insert_before_this(&self, child: &mut dyn Mountable) -> bool {
        self.place.insert_before_this(child)
    }

    fn elements(&self) -> Vec<Element> {
        vec![self.place.clone()]
    }
}
