//! The conversation on screen while it lives: its transcript, what is being sent, and the task that follows the running
//! turn. The turn belongs to the server; this only reads along, and reads again after a broken connection.

mod branches;
mod calls;
mod drawing;
mod earlier;
mod reading;
mod sending;

use std::collections::HashMap;

use futures_util::future::{AbortHandle, abortable};
use leptos::{prelude::*, task::spawn_local};
use tallybook_protocol::{Conversation, MessageId, NewMessage, ToolCallId};
use uuid::Uuid;

use crate::{
    api::{self, ApiError},
    browser,
    conversation_list::Heard,
    language::{Language, use_language},
    transcript::{ExpandAll, Transcript},
};

pub(crate) use branches::{Edited, Step};
pub(crate) use drawing::DrawnEntry;
use sending::draft_name;
pub(crate) use sending::forget_draft;

/// What the session is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nothing runs.
    Idle,
    /// A message is on its way and not yet known to be stored.
    Sending,
    /// A turn runs and is read along.
    Following,
    /// A turn runs; the connection is down, and the next attempt is in so many seconds.
    Reconnecting(u64),
    /// A turn runs, and nobody is looking: it is read on when the tab is shown again.
    Hidden,
}

/// How it stands with something that is loaded when the reader wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Loading {
    /// Nobody waits for it.
    Idle,
    /// It is on its way.
    Running,
    /// It could not be loaded; in words for the reader.
    Failed(String),
}

/// What a session tells the page around it.
#[derive(Clone, Copy)]
pub(crate) struct Listeners {
    /// A conversation was made for the first message.
    pub(crate) created: Callback<Uuid>,
    /// A turn began or ended, so the list of conversations is out of date.
    pub(crate) changed: Callback<()>,
    /// Where the page keeps the session that is open, to tell it what happens elsewhere.
    pub(crate) open: StoredValue<Option<Session>>,
}

/// The conversation on screen. Its signals belong to the component that made it; its tasks end with that component.
#[derive(Clone, Copy)]
pub(crate) struct Session {
    /// The transcript as it is drawn.
    pub(crate) transcript: RwSignal<Transcript>,
    /// The messages that are drawn. Each has a signal, so that a word in one of a thousand concerns no other.
    drawn: StoredValue<HashMap<MessageId, RwSignal<DrawnEntry>>>,
    /// The transcript as it is known; up to one frame ahead of what is drawn.
    known: StoredValue<Transcript>,
    /// Whether the next frame will draw what is known.
    drawing: StoredValue<bool>,
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
    /// The reader's last command to open or close all tool calls.
    pub(crate) expand_all: RwSignal<ExpandAll>,
    /// How it stands with the rest of tool calls whose texts came cut.
    loading_calls: RwSignal<HashMap<ToolCallId, Loading>>,
    /// The message of one's own that is being changed.
    pub(crate) edited: RwSignal<Option<Edited>>,
    /// Whether the beginning of the turn that was asked for is still to be heard.
    begins: StoredValue<bool>,
    uuid: StoredValue<Option<Uuid>>,
    /// The last message that failed to be sent, with its id: sent again it is the same message.
    failed: StoredValue<Option<NewMessage>>,
    tasks: StoredValue<Vec<AbortHandle>>,
    /// The last of them that read a turn along.
    reading: StoredValue<Option<AbortHandle>>,
    listeners: Listeners,
    text: Language,
}

impl Session {
    /// A session of `conversation`, or of one that is made with the first message.
    pub(crate) fn new(conversation: Option<Conversation>, listeners: Listeners) -> Self {
        let uuid = conversation.as_ref().map(|conversation| conversation.summary.uuid);
        let runs = conversation.as_ref().is_some_and(|conversation| conversation.active_message_id.is_some());
        let transcript = conversation.map(Transcript::from).unwrap_or_default();
        let phase = RwSignal::new(if runs { Phase::Following } else { Phase::Idle });
        // Given back because nobody said that it was stored, it may have been.
        let is_stored = |draft: &String| transcript.last_question().is_some_and(|question| question == draft.trim());
        let draft = Some(browser::kept(&draft_name(uuid))).filter(|draft| !is_stored(draft));
        let draft = RwSignal::new(draft.unwrap_or_default());
        let session = Self {
            transcript: RwSignal::new(transcript.clone()),
            drawn: StoredValue::default(),
            known: StoredValue::new(transcript),
            drawing: StoredValue::new(false),
            phase,
            busy: Memo::new(move |_| phase.get() != Phase::Idle),
            unstored: RwSignal::new(None),
            draft,
            notice: RwSignal::new(None),
            stopping: RwSignal::new(false),
            earlier: RwSignal::new(Loading::Idle),
            expand_all: RwSignal::new(ExpandAll::default()),
            loading_calls: RwSignal::new(HashMap::new()),
            edited: RwSignal::new(None),
            begins: StoredValue::new(false),
            uuid: StoredValue::new(uuid),
            failed: StoredValue::new(None),
            tasks: StoredValue::new(Vec::new()),
            reading: StoredValue::new(None),
            listeners,
            text: use_language(),
        };
        if let Some(uuid) = uuid.filter(|_| runs) {
            // Effects run in a browser alone, once the page is there.
            Effect::new(move || session.spawn_reading(session.follow(uuid, None)));
        }
        Effect::new(move || draft.with(|draft| browser::keep(&draft_name(session.uuid.get_value()), draft)));
        Effect::new(move || {
            let shown = window_event_listener_untyped("visibilitychange", move |_| session.attend());
            on_cleanup(move || shown.remove());
        });
        listeners.open.set_value(Some(session));
        let tasks = session.tasks;
        on_cleanup(move || tasks.with_value(|tasks| tasks.iter().for_each(AbortHandle::abort)));
        session
    }

    /// Whether a turn runs or is about to.
    pub(crate) fn is_busy(&self) -> bool {
        self.busy.get()
    }

    /// The conversation, while nothing runs in it.
    fn at_rest(self) -> Option<Uuid> {
        self.uuid.get_value().filter(|_| self.phase.get_untracked() == Phase::Idle)
    }

    /// Has the last answer go on that was cut off.
    pub(crate) fn continue_turn(self) {
        let Some(uuid) = self.at_rest() else { return };
        self.phase.set(Phase::Following);
        self.notice.set(None);
        self.spawn_reading(async move {
            match api::continue_turn(uuid).await {
                Ok(stream) => {
                    self.listeners.changed.run(());
                    self.follow(uuid, Some(stream)).await;
                }
                // Another tab was quicker.
                Err(ApiError::Refused { status: 409, .. }) => self.take_stored(uuid).await,
                Err(error) => self.rest(Some(error.message(self.text))),
            }
        });
    }

    /// Catches up with what may have happened to the conversation elsewhere, and follows the turn that runs in it. Does
    /// nothing while a turn is followed here anyway.
    pub(crate) fn hear(self, heard: Heard) {
        // The session may be gone: its conversation was left.
        let Some(here) = self.uuid.try_get_value().flatten() else { return };
        if self.phase.try_get_untracked() != Some(Phase::Idle) {
            return;
        }
        match heard {
            Heard::Joined => self.spawn_reading(async move {
                // The page is as new as can be, so only a turn that runs is worth reading all of it again.
                if let Ok(Some(_)) = api::join(here, None).await {
                    self.take_stored(here).await;
                }
            }),
            Heard::Missed => self.spawn_reading(self.take_stored(here)),
            Heard::Began(uuid) | Heard::Selected(uuid) if uuid == here => self.spawn_reading(self.take_stored(here)),
            Heard::Began(_) | Heard::Selected(_) => {}
        }
    }

    /// Asks the server to stop the running turn; its last event ends the session's reading as always.
    pub(crate) fn stop(self) {
        let Some(uuid) = self.uuid.get_value() else { return };
        if self.stopping.get_untracked() {
            return;
        }
        self.stopping.set(true);
        self.spawn(async move {
            match api::stop(uuid).await {
                // The turn has just ended by itself.
                Ok(()) | Err(ApiError::Refused { status: 404 | 409, .. }) => {}
                Err(error) => {
                    self.stopping.set(false);
                    self.notice.set(Some(error.message(self.text)));
                }
            }
        });
    }

    /// Reads the running turn along while the tab is seen. A hidden one needs no connection; it catches up when it is
    /// shown.
    fn attend(self) {
        let Some(uuid) = self.uuid.get_value() else { return };
        match (browser::is_hidden(), self.phase.get_untracked()) {
            (true, Phase::Following | Phase::Reconnecting(_)) => {
                self.reading.with_value(|reading| reading.iter().for_each(AbortHandle::abort));
                self.phase.set(Phase::Hidden);
            }
            (false, Phase::Hidden) => {
                self.phase.set(Phase::Following);
                self.spawn_reading(self.take_stored(uuid));
            }
            (true, Phase::Idle | Phase::Sending | Phase::Hidden)
            | (false, Phase::Idle | Phase::Sending | Phase::Following | Phase::Reconnecting(_)) => {}
        }
    }

    /// Runs a task that reads a turn along, of which there is one at a time.
    fn spawn_reading(self, task: impl Future<Output = ()> + 'static) {
        let handle = self.spawn(task);
        self.reading.set_value(Some(handle));
    }

    /// Runs `task` until it ends or the component goes away. An aborted task is never polled again, so it touches no
    /// signal that is gone, and its connection closes as it is dropped.
    fn spawn(self, task: impl Future<Output = ()> + 'static) -> AbortHandle {
        let (task, handle) = abortable(task);
        self.tasks.update_value(|tasks| tasks.push(handle.clone()));
        spawn_local(async move {
            // `Err` says that it was aborted, which is how it should end then.
            let _ = task.await;
        });
        handle
    }

    fn rest(self, notice: Option<String>) {
        self.unstored.set(None);
        self.begins.set_value(false);
        self.stopping.set(false);
        self.phase.set(Phase::Idle);
        if notice.is_some() {
            self.notice.set(notice);
        }
    }
}
