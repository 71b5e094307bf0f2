//! A message on the page. The pure renderer says what it looks like (`message`); here it is put into the document and
//! kept up to date: HTML that the server wrote is adopted as it is, and only what changes is updated. Parts that other
//! code creates are in `slots`, what happens when something in a message is pressed in `actions`, and what the user did
//! with it in `state`.

mod actions;
pub(crate) mod approval_card;
pub(crate) mod call_text;
pub(crate) mod copy;
pub(crate) mod edit_form;
pub(crate) mod explanation;
pub(crate) mod feedback;
pub(crate) mod fork;
pub(crate) mod list;
pub(crate) mod long_text;
mod menu;
pub(crate) mod reasoning;
pub(crate) mod reviews;
pub(crate) mod shown;
mod slots;
mod state;
pub(crate) mod tool_call_details;

use std::{collections::BTreeMap, ops::Deref, sync::Arc, time::Duration};

use leptos::{
    prelude::*,
    reactive::owner::{Owner, WeakOwner},
    task::spawn_local,
};
use send_wrapper::SendWrapper;
use tallybook_markdown::Drawing;
use tallybook_nodes::{Drawn, adopt};
use tallybook_protocol::{ContextTruncation, MessageId, Role};
use wasm_bindgen::{JsCast, closure::Closure};
use web_sys::{Element, MouseEvent};

pub(crate) use self::menu::{MessageMenu, OpenMenu};
use self::{slots::Mounted, state::MessageState};
use crate::{
    browser,
    components::{
        message::shown::{ShownMessage, drawn_when_near},
        parts::own_element::OwnElement,
    },
    goal::element_id,
    language::Language,
    message::{
        ACTION_WHEN_IDLE, Clocks, Live, MS, OWN_FILES, Recovery, Slot, Stretches, Times, View, render, write_html,
    },
    models::Models,
    reactive::{effect, memo},
    transcript::Entry,
};

/// A message of the page: its state, and its place in the document.
#[derive(Clone)]
pub(crate) struct MessageView(Arc<Parts>);

/// Parts of a message of the page.
pub(crate) struct Parts {
    state: MessageState,
    /// The part of the conversation that the model of the newest answer received.
    context: Option<Memo<Option<ContextTruncation>>>,
    recovery: Memo<Option<Recovery>>,
    is_edited: Memo<bool>,
    heard_ms: i64,
    /// Grows whenever a count of seconds in the message changes.
    seconds: RwSignal<u32>,
    is_counting: StoredValue<bool>,
    place: StoredValue<Option<SendWrapper<Placed>>>,
    /// Owner of what is mounted in slots.
    owner: Option<WeakOwner>,
}

impl Deref for MessageView {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

/// A message in the document.
struct Placed {
    article: Element,
    /// The rendered nodes; `None` for server-rendered HTML that was not adopted yet.
    drawn: Option<Drawn>,
    last: Option<(Arc<Entry>, Live)>,
    clocks: Clocks,
    times: Arc<Times>,
    prose: BTreeMap<String, DrawnProse>,
    slots: BTreeMap<Slot, Mounted>,
    hear: Closure<dyn Fn(MouseEvent)>,
}

/// Markdown that is drawn in a message.
struct DrawnProse {
    text: String,
    is_complete: bool,
    /// The renderer while it grows; `None` once it is complete.
    drawing: Option<Drawing>,
}

impl MessageView {
    /// Creates the view of a message. `context` is what the model of the newest answer received of the conversation.
    pub(crate) fn new(id: MessageId, shown: ShownMessage, context: Option<Memo<Option<ContextTruncation>>>) -> Self {
        let ShownMessage { entry, session, .. } = shown;
        let recovery = memo(move |_| {
            let (session, offered) = (session?, entry.with(|entry| Recovery::of(entry.as_ref()?))?);
            // Asked first, so that complete answers depend on nothing else.
            let last = session.transcript.with(|transcript| transcript.entries().last().map(|entry| entry.id));
            (last == Some(id) && !session.is_busy()).then_some(offered)
        });
        let message = Self(Arc::new(Parts {
            state: MessageState::new(id, shown),
            context,
            recovery,
            is_edited: memo(move |_| session.is_some_and(|session| session.is_edited(id))),
            heard_ms: browser::now(),
            seconds: RwSignal::new(0),
            is_counting: StoredValue::new(false),
            place: StoredValue::new(None),
            owner: Owner::current().map(|owner| owner.downgrade()),
        }));
        // Effects run in a browser only.
        let drawn = message.clone();
        effect(move || drawn.draw());
        if let Some(session) = session {
            let message = message.clone();
            effect(move || {
                let is_busy = session.is_busy();
                message.place.with_value(|placed| {
                    if let Some(placed) = placed {
                        placed.mark_busy(is_busy, message.state.text);
                    }
                });
            });
        }
        message
    }

    /// Returns what the message is shown with now. Tracked.
    fn live(&self) -> Live {
        let MessageState {
            id,
            shown,
            models,
            toggles,
            opened_groups,
            is_unfolded,
            copied,
            explanation,
            rating,
            is_menu_open,
            ..
        } = self.state;
        let context = self.context.and_then(|context| context.get()).filter(|context| context.from == id);
        Live {
            has_actions: shown.session.is_some(),
            draws_all: !browser::IS_HERE,
            toggles: toggles.get(),
            expand_all: shown.expand_all.get(),
            opened_groups: opened_groups.get(),
            is_unfolded: is_unfolded.get(),
            is_edited: self.is_edited.get(),
            recovery: self.recovery.get(),
            is_stopping: shown.session.is_some_and(|session| session.stopping.get()),
            has_models: shown.session.is_some() && models.is_some_and(Models::is_choice),
            is_explained: explanation.with(Option::is_some),
            is_reason_asked: rating.is_reason_asked(),
            is_menu_open: is_menu_open.get(),
            copied: copied.get(),
            context,
            times: Arc::default(),
            heard_ms: self.heard_ms,
            clocks: Clocks::default(),
        }
    }

    /// Updates the document to what the message is now.
    fn draw(&self) {
        self.seconds.track();
        let Some(entry) = self.state.shown.entry.get() else { return };
        let live = self.live();
        self.place.update_value(|placed| {
            if let Some(placed) = placed {
                placed.clocks.update(&entry, browser::now());
                placed.add_times(&entry, self.heard_ms);
                let live = Live { clocks: placed.clocks.clone(), times: Arc::clone(&placed.times), ..live };
                placed.draw(self, entry, live);
            }
        });
        if self.next_change().is_some() && !self.is_counting.get_value() {
            self.count();
        }
    }

    /// Returns the time until a count of seconds in the message changes.
    fn next_change(&self) -> Option<Duration> {
        let next = |placed: &Option<SendWrapper<Placed>>| placed.as_ref()?.clocks.next_change_ms(browser::now());
        // The message may be gone by now.
        self.place.try_with_value(next).flatten().map(Duration::from_millis)
    }

    /// Draws whenever a count of seconds changes, while something in the message runs.
    fn count(&self) {
        self.is_counting.set_value(true);
        let message = self.clone();
        spawn_local(async move {
            while let Some(left) = message.next_change() {
                browser::sleep(left).await;
                message.seconds.try_update(|seconds| *seconds = seconds.wrapping_add(1));
            }
            message.is_counting.try_set_value(false);
        });
    }

    /// Puts the message into the document: as the server wrote it if it did, else as it is known.
    #[expect(clippy::expect_used, reason = "a page cannot be without elements")]
    fn build(&self) -> Element {
        let message = self.clone();
        let hear = Closure::<dyn Fn(MouseEvent)>::new(move |event: MouseEvent| message.state.press(&event));
        let adopted = browser::adopt_drawn(&element_id(self.state.id));
        let is_new = adopted.is_none();
        let article =
            adopted.unwrap_or_else(|| document().create_element("article").expect("views are built in a browser only"));
        let _ = article.add_event_listener_with_callback("click", hear.as_ref().unchecked_ref());
        let placed = Placed {
            article: article.clone(),
            drawn: is_new.then(|| empty(&article)),
            last: None,
            clocks: Clocks::default(),
            times: Arc::default(),
            prose: BTreeMap::new(),
            slots: BTreeMap::new(),
            hear,
        };
        self.place.set_value(Some(SendWrapper::new(placed)));
        if is_new {
            untrack(|| self.draw());
        } else if let Ok(Some(_)) = article.query_selector(&format!("[{}]", browser::PRESSED)) {
            spawn_local(async { browser::replay_presses() });
        }
        article
    }

    /// Returns the message as the server writes it.
    fn html(&self) -> String {
        let mut html = String::new();
        if let Some(entry) = self.state.shown.entry.get_untracked() {
            let live = untrack(|| self.live());
            let near = drawn_when_near(self.state.id, self.state.shown.session);
            let view =
                View { id: self.state.id, entry: &entry, text: self.state.text, files: OWN_FILES, live: Some(&live) };
            write_html(view, near, &mut html, &mut |slot| {
                self.state.slot_view(slot).map(RenderHtml::to_html).unwrap_or_default()
            });
        }
        html
    }
}

impl Drop for Placed {
    fn drop(&mut self) {
        // A press in the message may have removed it, and is still on its way to the listener.
        let hear = self.hear.as_ref().unchecked_ref();
        let _ = self.article.remove_event_listener_with_callback("click", hear);
    }
}

impl Placed {
    /// Adds the times of the message that are not known yet.
    fn add_times(&mut self, entry: &Entry, heard_ms: i64) {
        let ms = entry.at_ms.unwrap_or(heard_ms);
        if !self.times.full.contains_key(&ms)
            && let Some(time) = browser::local_time(ms)
        {
            Arc::make_mut(&mut self.times).full.insert(ms, time);
        }
        for ms in entry.calls().filter_map(|call| call.span()).flat_map(|(start, end)| [start, end]) {
            if !self.times.of_day.contains_key(&ms)
                && let Some(time) = browser::time_of_day(ms)
            {
                Arc::make_mut(&mut self.times).of_day.insert(ms, time);
            }
        }
    }

    fn draw(&mut self, message: &MessageView, entry: Arc<Entry>, live: Live) {
        if self.last.as_ref().is_some_and(|(before, was)| Arc::ptr_eq(before, &entry) && *was == live) {
            return;
        }
        let view =
            View { id: message.state.id, entry: &entry, text: message.state.text, files: OWN_FILES, live: Some(&live) };
        if self.drawn.is_none() {
            self.adopt(message, &entry, &live);
        }
        if self.only_text_grew(&entry, &live) {
            self.draw_prose(view);
            self.last = Some((entry, live));
            return;
        }
        let nodes = render(view);
        let is_done = self.drawn.as_mut().is_some_and(|drawn| drawn.update_to(nodes).is_ok());
        if !is_done {
            // Other code, such as a translation extension, has moved the nodes.
            self.begin_again();
            let nodes = render(view);
            let _ = self.drawn.as_mut().map(|drawn| drawn.update_to(nodes));
        }
        self.draw_prose(view);
        self.fill_slots(message);
        if let Some(session) = message.state.shown.session {
            self.mark_busy(session.busy_untracked(), message.state.text);
        }
        self.last = Some((entry, live));
    }

    /// Returns `true` if only Markdown changed since the message was last drawn: what most events do, however many
    /// calls it has.
    fn only_text_grew(&self, entry: &Entry, live: &Live) -> bool {
        self.last.as_ref().is_some_and(|(before, was)| {
            // The text of a question is not Markdown.
            entry.role == Role::Assistant
                && was == live
                && before.differs_only_in_text(entry)
                && Stretches::of(before).has_same_places(&Stretches::of(entry))
        })
    }

    /// Pairs the server's HTML with the nodes that it was written from. If they do not match, the content is drawn
    /// again.
    fn adopt(&mut self, message: &MessageView, entry: &Entry, live: &Live) {
        // What the user has done since is not in the server's HTML: a press may be carried out before this first drawing.
        let Live { has_actions, recovery, is_stopping, has_models, context, heard_ms, .. } = live.clone();
        let server = Live { draws_all: true, ..Live::default() };
        let sent = Live { has_actions, recovery, is_stopping, has_models, context, heard_ms, ..server };
        let view = View { id: message.state.id, entry, text: message.state.text, files: OWN_FILES, live: Some(&sent) };
        // The document's script wrote it. It is written again in this task.
        for place in elements(&self.article, &format!(".when[{MS}]")) {
            place.set_text_content(None);
        }
        self.drawn = adopt(&render(view), &self.article);
        if self.drawn.is_none() {
            return self.begin_again();
        }
        let stretches = Stretches::of(entry);
        for place in elements(&self.article, ".prose") {
            let Some(prose) = stretches.find(&place.id()).filter(|prose| prose.is_complete) else { continue };
            self.prose.insert(place.id(), DrawnProse { text: prose.text.to_owned(), is_complete: true, drawing: None });
        }
    }

    fn begin_again(&mut self) {
        self.article.set_text_content(None);
        self.prose.clear();
        self.slots.clear();
        self.drawn = Some(empty(&self.article));
    }

    fn draw_prose(&mut self, view: View<'_>) {
        let mut gone = std::mem::take(&mut self.prose);
        let stretches = Stretches::of(view.entry);
        for place in elements(&self.article, ".prose") {
            let id = place.id();
            let Some(prose) = stretches.find(&id) else { continue };
            let known = gone.remove(&id);
            let is_same =
                known.as_ref().is_some_and(|known| known.is_complete == prose.is_complete && known.text == prose.text);
            let drawn = match known {
                Some(known) if is_same => known,
                known => {
                    let begin = || Drawing::begin(place.clone(), view.text.markdown_labels());
                    let mut drawing = known.and_then(|known| known.drawing).unwrap_or_else(begin);
                    drawing.draw(prose.text, prose.is_complete);
                    let drawing = Some(drawing).filter(|_| !prose.is_complete);
                    DrawnProse { text: prose.text.to_owned(), is_complete: prose.is_complete, drawing }
                }
            };
            self.prose.insert(id, drawn);
        }
    }

    /// Mounts what is missing in slots, and unmounts what is in none.
    fn fill_slots(&mut self, message: &MessageView) {
        let mut gone = std::mem::take(&mut self.slots);
        for place in elements(&self.article, ".slot") {
            let Some(slot) = Slot::of_element(&place.id()) else { continue };
            let mounted = match gone.remove(&slot) {
                Some(mounted) if mounted.is_in(&place) => Some(mounted),
                _ => {
                    place.set_text_content(None);
                    message.owner.as_ref().and_then(|owner| Mounted::new(&place, &message.state, owner, slot))
                }
            };
            self.slots.extend(mounted.map(|mounted| (slot, mounted)));
        }
    }

    /// Marks buttons that do nothing while a turn runs. They still take the focus, so that their reason is found.
    fn mark_busy(&self, is_busy: bool, text: Language) {
        for button in elements(&self.article, &format!("[{ACTION_WHEN_IDLE}]")) {
            let title =
                if is_busy { Some(text.wait_for_answer().to_owned()) } else { button.get_attribute("aria-label") };
            let _ = if is_busy {
                button.set_attribute("aria-disabled", "true")
            } else {
                button.remove_attribute("aria-disabled")
            };
            let _ = title.map(|title| button.set_attribute("title", &title));
        }
    }
}

/// Returns an article in which nothing is drawn.
fn empty(article: &Element) -> Drawn {
    Drawn::Element { place: article.clone(), tag: "article", attributes: Vec::new(), children: Vec::new() }
}

/// Returns the elements in a message that match a selector, in order.
fn elements(article: &Element, selector: &str) -> Vec<Element> {
    let Ok(found) = article.query_selector_all(selector) else { return Vec::new() };
    (0..found.length()).filter_map(|index| found.item(index)?.dyn_into().ok()).collect()
}

impl From<MessageView> for OwnElement {
    fn from(message: MessageView) -> Self {
        let html = if browser::IS_HERE { String::new() } else { message.html() };
        Self::new(html, move || message.build())
    }
}
