//! Markdown as a Leptos view. On the server it is HTML. In the browser it is drawn by a program of its own, which the page
//! loads when it first has something to draw: what the server drew is taken over as it stands, and needs no drawing.

use std::{
    cell::{OnceCell, RefCell},
    fmt::Write as _,
    rc::Rc,
    time::Duration,
};

use leptos::{
    prelude::{AddAnyAttr, Mountable, Render, RenderHtml},
    tachys::{
        html::attribute::{Attribute, any_attribute::AnyAttribute},
        hydration::Cursor,
        view::{Position, PositionState},
    },
    task::spawn_local,
};
use tallybook_markdown::Labels;
use tallybook_protocol::MessageId;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::Element;

use crate::{browser, language::Language};

/// The program that draws, as its files are named.
const PROGRAM: &str = "markdown";
/// The pauses between the attempts to load the program for a text that is to be seen.
const PAUSES_SECS: [u64; 6] = [1, 2, 5, 10, 30, 60];
/// How long one waits for the program before a conversation is shown without it.
const LOAD_TIMEOUT: Duration = Duration::from_secs(5);

#[wasm_bindgen]
extern "C" {
    /// Loads one of the page's programs, once. It stands in the page's script ([`crate::shell`]).
    #[wasm_bindgen(js_namespace = window, catch)]
    fn program(name: &str) -> Result<js_sys::Promise, JsValue>;

    /// Has code and formulas seen to in a place that is finished. It stands in the page's script.
    #[wasm_bindgen(js_namespace = window)]
    fn typeset(place: &Element);

    /// The program, once it is loaded: the crate `tallybook_markdown`.
    #[derive(Clone)]
    type Program;

    #[wasm_bindgen(method)]
    fn open(
        this: &Program,
        place: &Element,
        copy: &str,
        copied: &str,
        table: &str,
        task_done: &str,
        task_open: &str,
    ) -> Drawing;

    type Drawing;

    #[wasm_bindgen(method)]
    fn draw(this: &Drawing, text: &[u8], complete: bool);
}

thread_local! {
    static LOADED: OnceCell<Program> = const { OnceCell::new() };
}

/// Loads the program; `None` when it does not come.
async fn load() -> Option<Program> {
    if let Some(program) = LOADED.with(|loaded| loaded.get().cloned()) {
        return Some(program);
    }
    let loaded: Program = JsFuture::from(program(PROGRAM).ok()?).await.ok()?.unchecked_into();
    LOADED.with(|place| Some(place.get_or_init(|| loaded).clone()))
}

/// Loads the program ahead of the moment when something is to be drawn, and waits for it a while.
pub(crate) async fn prepare() {
    browser::within(LOAD_TIMEOUT, load()).await;
}

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
    state: Rc<RefCell<State>>,
}

#[derive(Default)]
struct State {
    /// What draws it; nothing before it is first drawn here, and when nothing more is to come.
    drawing: Option<Drawing>,
    /// What is to be drawn as soon as the program has come.
    waiting: Option<Stretch>,
    /// Whether what stands there is what the server drew.
    from_server: bool,
}

impl Prose {
    fn draw(&self, stretch: Stretch) {
        // Told once it is complete, not word by word.
        let _ = if stretch.complete {
            self.place.remove_attribute("aria-busy")
        } else {
            self.place.set_attribute("aria-busy", "true")
        };
        if let Some(program) = LOADED.with(|loaded| loaded.get().cloned()) {
            self.state.borrow_mut().draw(&program, &self.place, &stretch);
            return;
        }
        let mut held = self.state.borrow_mut();
        // Until then the Markdown itself is read, or what the server drew of it.
        if !held.from_server {
            self.place.set_text_content(Some(&stretch.text));
        }
        let is_awaited = held.waiting.replace(stretch).is_some();
        drop(held);
        if is_awaited {
            return;
        }
        let (state, place) = (Rc::clone(&self.state), self.place.clone());
        spawn_local(async move {
            for pause in PAUSES_SECS {
                if let Some(program) = load().await {
                    let mut state = state.borrow_mut();
                    if let Some(stretch) = state.waiting.take() {
                        state.draw(&program, &place, &stretch);
                    }
                    return;
                }
                browser::sleep(Duration::from_secs(pause)).await;
                // What is no longer shown needs no drawing.
                if Rc::strong_count(&state) == 1 {
                    return;
                }
            }
            // The next piece of text asks again.
            state.borrow_mut().waiting = None;
        });
    }
}

impl State {
    fn draw(&mut self, program: &Program, place: &Element, stretch: &Stretch) {
        let Labels { copy, copied, table, task_done, task_open } = stretch.language.markdown_labels();
        let open = || program.open(place, &copy, &copied, &table, &task_done, &task_open);
        let drawing = self.drawing.take().unwrap_or_else(open);
        drawing.draw(stretch.text.as_bytes(), stretch.complete);
        self.from_server = false;
        self.drawing = Some(drawing).filter(|_| !stretch.complete);
    }
}

impl Render for Stretch {
    type State = Prose;

    #[expect(clippy::expect_used, reason = "a page cannot be without elements")]
    fn build(self) -> Prose {
        let id = self.id();
        if let Some(place) = browser::drawn_by_server(&id) {
            // One that is not complete will be drawn anew.
            if self.complete {
                typeset(&place);
            }
            let state = State { from_server: true, ..State::default() };
            return Prose { place, state: Rc::new(RefCell::new(state)) };
        }
        let place = leptos::prelude::document().create_element("div").expect("views are built in a browser alone");
        place.set_class_name("prose");
        place.set_id(&id);
        let prose = Prose { place, state: Rc::default() };
        prose.draw(self);
        prose
    }

    fn rebuild(self, prose: &mut Prose) {
        prose.draw(self);
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
        tallybook_markdown::write_html(&self.text, &self.language.markdown_labels(), html);
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
