//! The shell around a session: the only part of it that touches the browser. It tells the reducer what happens, holds what
//! is drawn in signals, and keeps what is being written. What the reducer decides is done in `carry_out`.

mod carry_out;
mod requests;

use std::collections::BTreeMap;

use futures_channel::oneshot;
use futures_util::future::AbortHandle;
use leptos::prelude::*;
use tallybook_protocol::{Conversation, MessageId, Role, ToolCallId};
use uuid::Uuid;

use super::{
    drawing::{Drawing, DrawnEntry},
    input::{Action, Input},
    queue::Queue,
    reduce::reduce,
    shown::{Answer, Edited, Loading, Phase, Place},
    state::State,
    storage::{Elsewhere, Kept},
};
use crate::{
    browser, drafts,
    feed::Feed,
    goal::Goal,
    language::use_language,
    models::Models,
    reactive::{effect, memo},
    tools::Tools,
    transcript::{ExpandAll, Transcript},
};

/// Where a session leads to.
#[derive(Clone, Copy)]
pub(crate) struct Ways {
    /// The new chat became a conversation.
    pub(crate) became: Callback<Uuid>,
    /// Leaves for a new chat.
    pub(crate) open_new_chat: Callback<()>,
    /// The conversation was left with messages that wait.
    pub(crate) left_waiting: Callback<Uuid>,
}

/// How a session comes by the conversation that it begins with.
pub(crate) enum First {
    /// It asks for it, where there is one.
    Asked,
    /// It has it, on the server.
    Here(Box<Conversation>),
    /// It came with the page, and is read when the code for that is here.
    Coming(oneshot::Receiver<Box<Conversation>>),
}

/// What a session has begun to wait for.
#[derive(Default)]
struct Underway {
    /// The conversation that came with the page, until it is asked for.
    coming: Option<oneshot::Receiver<Box<Conversation>>>,
    /// The task that waits for what the session waits for.
    reading: Option<AbortHandle>,
    /// All other tasks.
    tasks: Vec<AbortHandle>,
}

/// The conversation on screen. Its signals belong to the component that made it; its tasks end with that component.
#[derive(Clone, Copy)]
pub(crate) struct Session {
    /// All that is known.
    state: StoredValue<State>,
    /// The transcript as it is drawn; up to one frame behind what is known.
    pub(crate) transcript: RwSignal<Transcript>,
    drawing: Drawing,
    pub(crate) place: RwSignal<Place>,
    pub(crate) is_leaving: RwSignal<bool>,
    pub(crate) phase: RwSignal<Phase>,
    /// Whether a turn runs or is about to. Every message watches this, and not each step of the phase.
    busy: Memo<bool>,
    /// The text being sent, until the server has stored it.
    pub(crate) unstored: RwSignal<Option<String>>,
    /// What is in the message field. It is there again when the page is loaded anew.
    pub(crate) draft: RwSignal<String>,
    /// What went wrong with the last thing asked for.
    pub(crate) notice: RwSignal<Option<String>>,
    pub(crate) stopping: RwSignal<bool>,
    /// How it stands with the messages before those that are here.
    pub(crate) earlier: RwSignal<Loading>,
    /// The place that was gone to last.
    pub(crate) revealed: RwSignal<Option<Goal>>,
    /// Whether a place is on its way.
    pub(crate) is_going: RwSignal<bool>,
    /// The reader's last command to open or close all tool calls.
    pub(crate) expand_all: RwSignal<ExpandAll>,
    /// How it stands with the rest of tool calls whose texts came cut.
    calls: RwSignal<BTreeMap<ToolCallId, Loading>>,
    /// The message of one's own that is being changed.
    pub(crate) edited: RwSignal<Option<Edited>>,
    /// The calls that wait whose input was seen whole and is not being edited: what is allowed of them is what was read.
    pub(crate) seen_calls: RwSignal<Vec<ToolCallId>>,
    /// The model that was chosen for the next message alone, and whether that message is answered by a plan.
    pub(crate) next: RwSignal<(Option<String>, bool)>,
    /// What waits for the end of the answer.
    pub(crate) queue: RwSignal<Queue>,
    kept: StoredValue<Kept>,
    underway: StoredValue<Underway>,
    ways: Ways,
    models: Models,
    pub(crate) tools: Tools,
}

impl Session {
    /// A session of a place.
    pub(crate) fn new(place: Place, first: First, feed: Feed, ways: Ways) -> Self {
        let uuid = match &place {
            Place::Loading(uuid) | Place::Failed(uuid, _) | Place::Open(uuid) => Some(*uuid),
            Place::NewChat | Place::Missing | Place::Deleted => None,
        };
        let kept = Kept::of(uuid);
        let (here, coming) = match first {
            First::Asked => (None, None),
            First::Here(conversation) => (Some(*conversation), None),
            First::Coming(coming) => (None, Some(coming)),
        };
        let mut state = State::new(place, here, kept.draft.clone(), use_language());
        state.restore_kept(kept.queue.clone(), kept.plans_first, kept.edit.clone(), kept.sent.clone());
        let phase = RwSignal::new(state.phase());
        let queue = RwSignal::new(state.queue.clone());
        let (place, draft) = (RwSignal::new(state.place.clone()), RwSignal::new(state.draft.clone()));
        let (earlier, edited) = (state.earlier.clone(), state.edited.clone());
        let state = StoredValue::new(state);
        let drawing = Drawing::new(state);
        let models = expect_context::<Models>();
        let session = Self {
            models,
            tools: expect_context(),
            transcript: drawing.transcript,
            drawing,
            place,
            is_leaving: RwSignal::new(false),
            phase,
            busy: memo(move |_| phase.get() != Phase::Idle),
            unstored: RwSignal::new(None),
            draft,
            notice: RwSignal::new(None),
            stopping: RwSignal::new(false),
            earlier: RwSignal::new(earlier),
            revealed: RwSignal::new(None),
            is_going: RwSignal::new(false),
            expand_all: RwSignal::new(ExpandAll::default()),
            calls: RwSignal::default(),
            edited: RwSignal::new(edited),
            seen_calls: RwSignal::default(),
            next: RwSignal::new((None, kept.plans_first)),
            queue,
            kept: StoredValue::new(kept),
            underway: StoredValue::new(Underway { coming, ..Underway::default() }),
            ways,
            state,
        };
        feed.subscribe(move |news| session.feed(Input::News(news)));
        // Effects run in a browser alone, once the page is there.
        effect(move || {
            session.feed(Input::Alive);
            let attended = move |_| session.feed(Input::Hidden(browser::is_hidden()));
            let shown = window_event_listener_untyped("visibilitychange", attended);
            let online = window_event_listener_untyped("online", move |_| session.feed(Input::Online));
            browser::when_stored_elsewhere(move |key, value| {
                if let Some((name, text)) = drafts::changed_elsewhere(key, value) {
                    session.hear_elsewhere(&name, text);
                }
            });
            on_cleanup(move || {
                shown.remove();
                online.remove();
            });
        });
        on_cleanup(move || {
            // What was sent is to arrive. Nobody reads what is told of it.
            if session.state.try_with_value(State::is_delivering) != Some(true) {
                session.let_go();
            }
            session.underway.try_with_value(|underway| underway.tasks.iter().for_each(AbortHandle::abort));
            if let Some(left) = session.state.try_with_value(State::left_waiting).flatten().filter(|_| browser::IS_HERE)
            {
                session.ways.left_waiting.run(left);
            }
        });
        session
    }

    /// A message, as it changes, for as long as the component that asks for it is there.
    pub(crate) fn entry(self, id: MessageId) -> ReadSignal<DrawnEntry> {
        self.drawing.entry(id)
    }

    /// Whether nothing is known of the conversation yet.
    pub(crate) fn is_loading(self) -> bool {
        self.place.with(|place| matches!(place, Place::Loading(_)))
    }

    /// Whether a turn runs or is about to.
    pub(crate) fn is_busy(&self) -> bool {
        self.busy.get()
    }

    /// The same, not tracked.
    pub(crate) fn busy_untracked(&self) -> bool {
        self.busy.get_untracked()
    }

    /// The last answer that is known and how far it is. Not tracked: what is drawn follows a frame later, in a hidden tab not at all.
    pub(crate) fn last_answer(self) -> Option<Answer> {
        self.state.try_with_value(|state| {
            let last = state.transcript.entries().last().filter(|last| last.role == Role::Assistant)?;
            Some(Answer { id: last.id, status: last.status, stop_reason: last.stop_reason.clone() })
        })?
    }

    /// Whether a message is being changed in its place.
    pub(crate) fn is_edited(&self, id: MessageId) -> bool {
        self.edited.with(|edited| edited.as_ref().is_some_and(|edited| edited.id == id))
    }

    /// How it stands with the rest of a call.
    pub(crate) fn call_loading(self, id: ToolCallId) -> Loading {
        self.calls.with(|calls| calls.get(&id).cloned().unwrap_or(Loading::Idle))
    }

    /// Has something done for the reader.
    pub(crate) fn act(self, action: Action) {
        self.feed(Input::Reader(action));
    }

    /// Tells that the conversation is being deleted here, or that this was taken back.
    pub(crate) fn set_leaving(self, is_leaving: bool) {
        self.feed(Input::Leaving(is_leaving));
    }

    /// Takes what happened, and has done what that leads to. Nothing when the session is gone.
    fn feed(self, input: Input) {
        if self.take(input) {
            self.keep();
        }
    }

    /// The same, without keeping what is written here. Returns `false` if the session is gone.
    fn take(self, input: Input) -> bool {
        let Some(effects) = self.state.try_update_value(|state| reduce(state, input)) else { return false };
        self.show();
        for effect in effects {
            self.carry_out(effect);
        }
        true
    }

    /// Takes over what another tab has changed of what is kept, unless its reader types in this one. It is not written again: by
    /// then the other tab may have changed more.
    fn hear_elsewhere(self, name: &str, text: String) {
        let Some(conversation) = self.kept.try_with_value(|kept| kept.conversation) else { return };
        let Some(change) = Elsewhere::of(name, text, conversation) else { return };
        let is_typed_in = browser::has_document_focus() && browser::has_focus_within("input, textarea");
        if matches!(change, Elsewhere::Draft(_)) && is_typed_in {
            return;
        }
        if self.take(Input::Elsewhere(change)) {
            let now = self.state.try_with_value(Kept::now);
            now.map(|now| self.kept.try_set_value(now));
        }
    }

    /// Puts into the signals what changed; the transcript is drawn when that is asked for.
    fn show(self) {
        self.state.with_value(|state| {
            set(self.place, &state.place);
            set(self.is_leaving, &state.is_leaving);
            set(self.phase, &state.phase());
            set(self.unstored, &state.unstored);
            set(self.draft, &state.draft);
            set(self.notice, &state.notice);
            set(self.stopping, &state.stopping);
            set(self.earlier, &state.earlier);
            set(self.is_going, &state.goal.is_some());
            set(self.edited, &state.edited);
            set(self.next, &(state.next_model.clone(), state.plans_first));
            set(self.queue, &state.queue);
            set(self.calls, &state.calls);
        });
    }

    /// Keeps what is written here for the next time the page is loaded.
    fn keep(self) {
        let Some(now) = self.state.try_with_value(Kept::now) else { return };
        let before = self.kept.get_value();
        if now != before {
            now.write(&before);
            self.kept.set_value(now);
        }
    }
}

fn set<T: Clone + PartialEq + Send + Sync + 'static>(signal: RwSignal<T>, value: &T) {
    if signal.try_with_untracked(|held| held != value) == Some(true) {
        signal.set(value.clone());
    }
}
