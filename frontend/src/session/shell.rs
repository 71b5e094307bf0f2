//! The session as components use it: feeds inputs to the reducer, copies the state into signals, and keeps unsent
//! texts. `carry_out` and `requests` carry out the effects. All of this code is in the WASM chunk with messages, and
//! inputs wait for it in `held`.

mod carry_out;
mod held;
mod requests;
mod tasks;
mod uploads;

use std::collections::BTreeMap;

use futures_channel::oneshot;
use futures_util::FutureExt as _;
use held::{HeldInputs, may_change_conversation};
use leptos::{
    prelude::*,
    wasm_split::{SplitLoaderError, wasm_split},
};
use tallybook_protocol::{Conversation, MessageId, Role, ToolCallId};
use tasks::Tasks;
use uuid::Uuid;

use super::{
    drawing::{Drawing, DrawnEntry},
    files::{AttachedFile, FilesOf},
    input::{Action, Input},
    queue::Queue,
    reduce::reduce,
    shown::{Answer, Edited, Loading, Phase, Place},
    state::{State, joined},
    storage::{Elsewhere, Kept, keep_draft},
    unsent::UnsentMessage,
};
use crate::{
    browser,
    chunk::{Chunk, MessagesChunk},
    drafts,
    feed::{Feed, News},
    goal::Goal,
    language::use_language,
    models::Models,
    reactive::{effect, memo},
    tools::Tools,
    transcript::{ExpandAll, Transcript},
};

/// Callbacks of a session.
#[derive(Clone, Copy)]
pub(crate) struct SessionCallbacks {
    /// The new chat became this conversation.
    pub(crate) on_created: Callback<Uuid>,
    /// Opens a new chat.
    pub(crate) open_new_chat: Callback<()>,
    /// The user left this conversation, which has queued messages.
    pub(crate) on_left_with_queue: Callback<Uuid>,
}

/// The conversation that a session starts with.
pub(crate) enum InitialConversation {
    /// The session loads it, if there is one.
    NotLoaded,
    /// It is here, on the server.
    Loaded(Box<Conversation>),
    /// The document contains it. It arrives when the code that parses it has loaded.
    Parsing {
        conversation: oneshot::Receiver<Box<Conversation>>,
        /// `true` if no turn runs or waits for approval, so that the server-rendered messages stay as they are.
        is_idle: bool,
    },
}

/// The conversation on screen. Its signals belong to the component that created it, and its tasks end with that
/// component.
#[derive(Clone, Copy)]
pub(crate) struct Session {
    state: StoredValue<State>,
    /// The rendered transcript, at most one frame behind the known one.
    pub(crate) transcript: RwSignal<Transcript>,
    drawing: Drawing,
    pub(crate) place: RwSignal<Place>,
    pub(crate) is_leaving: RwSignal<bool>,
    pub(crate) phase: RwSignal<Phase>,
    /// `true` while a turn runs or is about to. All messages depend on this, and not on each change of the phase.
    busy: Memo<bool>,
    /// The message being sent, until the server has stored it.
    pub(crate) unstored: RwSignal<Option<UnsentMessage>>,
    /// The text of the message field. It is kept when the page is reloaded.
    pub(crate) draft: RwSignal<String>,
    /// The files of the message field. Those that are uploaded are kept, too.
    pub(crate) files: RwSignal<Vec<AttachedFile>>,
    /// `true` if a message waits for its files to be uploaded.
    pub(crate) waits_for_files: RwSignal<bool>,
    /// The reason why the user's last action failed.
    pub(crate) notice: RwSignal<Option<String>>,
    pub(crate) stopping: RwSignal<bool>,
    /// The state of the messages before the loaded ones.
    pub(crate) earlier: RwSignal<Loading>,
    /// The message that the user went to last.
    pub(crate) revealed: RwSignal<Option<Goal>>,
    /// `true` while the user is being taken to a message.
    pub(crate) is_going: RwSignal<bool>,
    /// The user's last command to open or close all tool calls.
    pub(crate) expand_all: RwSignal<ExpandAll>,
    /// The state of tool calls whose full texts were requested.
    calls: RwSignal<BTreeMap<ToolCallId, Loading>>,
    /// The question that is being edited.
    pub(crate) edited: RwSignal<Option<Edited>>,
    /// The calls that wait for approval, whose complete input the user has seen and is not editing. Only these can be
    /// approved together.
    pub(crate) seen_calls: RwSignal<Vec<ToolCallId>>,
    /// The calls whose buttons to allow or deny them are in view.
    pub(crate) decidable_in_sight: RwSignal<Vec<ToolCallId>>,
    /// The model for the next message only, and whether that message is answered with a plan.
    pub(crate) next: RwSignal<(Option<String>, bool)>,
    /// The queued messages.
    pub(crate) queue: RwSignal<Queue>,
    kept: StoredValue<Kept>,
    held: StoredValue<HeldInputs>,
    /// `true` if nothing had to be loaded, followed or decided when the session was created.
    was_idle: bool,
    /// The chunk with the code that handles inputs. `None` on the server, which has all code.
    chunk: Option<Chunk>,
    tasks: StoredValue<Tasks>,
    callbacks: SessionCallbacks,
    pub(crate) models: Models,
    pub(crate) tools: Tools,
}

impl Session {
    /// Creates the session of a place.
    pub(crate) fn new(place: Place, initial: InitialConversation, feed: Feed, callbacks: SessionCallbacks) -> Self {
        let uuid = match &place {
            Place::Loading(uuid) | Place::Failed(uuid, _) | Place::Open(uuid) => Some(*uuid),
            Place::NewChat | Place::Missing | Place::Deleted => None,
        };
        let kept = Kept::of(uuid);
        let (here, initial, was_idle) = match initial {
            InitialConversation::NotLoaded => (None, None, uuid.is_none()),
            // The browser needs no code for this before that of messages.
            InitialConversation::Loaded(conversation) => {
                (Some(*conversation).filter(|_| !browser::IS_HERE), None, false)
            }
            InitialConversation::Parsing { conversation, is_idle } => (None, Some(conversation), is_idle),
        };
        let mut state = State::new(place, here, kept.draft.clone(), use_language());
        state.restore_kept(
            kept.files.clone(),
            kept.queue.clone(),
            kept.plans_first,
            kept.edit.clone(),
            kept.sent.clone(),
        );
        let phase = RwSignal::new(state.phase());
        let queue = RwSignal::new(state.queue.clone());
        let (place, draft) = (RwSignal::new(state.place.clone()), RwSignal::new(state.draft.clone()));
        let files = RwSignal::new(state.files.clone());
        let (earlier, edited) = (state.earlier(), state.edited.clone());
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
            files,
            waits_for_files: RwSignal::new(false),
            notice: RwSignal::new(None),
            stopping: RwSignal::new(false),
            earlier: RwSignal::new(earlier),
            revealed: RwSignal::new(None),
            is_going: RwSignal::new(false),
            expand_all: RwSignal::new(ExpandAll::default()),
            calls: RwSignal::default(),
            edited: RwSignal::new(edited),
            seen_calls: RwSignal::default(),
            decidable_in_sight: RwSignal::default(),
            next: RwSignal::new((None, kept.plans_first)),
            queue,
            kept: StoredValue::new(kept),
            held: StoredValue::default(),
            was_idle,
            chunk: use_context::<MessagesChunk>().filter(|_| browser::IS_HERE).map(|MessagesChunk(chunk)| chunk),
            tasks: StoredValue::new(Tasks::new(initial)),
            callbacks,
            state,
        };
        feed.subscribe(move |news| session.feed(Input::News(news)));
        // Effects run only in a browser, once the page is mounted.
        effect(move || {
            if session.chunk.is_some_and(|chunk| chunk.is_here.get()) {
                session.handle_held();
            }
        });
        effect(move || {
            session.feed(Input::Ready);
            let attended = move |_| session.feed(Input::Hidden(browser::is_hidden()));
            let shown = window_event_listener_untyped("visibilitychange", attended);
            let online = window_event_listener_untyped("online", move |_| session.feed(Input::Online));
            browser::when_stored_elsewhere(move |key, value| {
                if let Some((name, text)) = drafts::changed_elsewhere(key, value) {
                    session.adopt_other_tab(&name, text);
                }
            });
            on_cleanup(move || {
                shown.remove();
                online.remove();
            });
        });
        on_cleanup(move || {
            // A message that is on its way should still arrive. Its response is ignored.
            if session.state.try_with_value(State::is_delivering) != Some(true) {
                session.tasks.try_update_value(Tasks::abort_request);
            }
            session.tasks.try_update_value(Tasks::abort_others);
            if let Some(left) = session.state.try_with_value(State::left_waiting).flatten().filter(|_| browser::IS_HERE)
            {
                session.callbacks.on_left_with_queue.run(left);
            }
        });
        session
    }

    /// Returns a signal of a message. It is updated as long as the calling component is mounted.
    pub(crate) fn entry(self, id: MessageId) -> ReadSignal<DrawnEntry> {
        self.drawing.entry(id)
    }

    /// Returns `true` until the conversation has been loaded.
    pub(crate) fn is_loading(self) -> bool {
        self.place.with(|place| matches!(place, Place::Loading(_)))
    }

    /// Returns the conversation that is open or being loaded.
    pub(crate) fn conversation(self) -> Option<Uuid> {
        match self.place.get() {
            Place::Open(uuid) | Place::Loading(uuid) => Some(uuid),
            Place::NewChat | Place::Failed(..) | Place::Missing | Place::Deleted => None,
        }
    }

    /// Returns `true` while a turn runs or is about to.
    pub(crate) fn is_busy(&self) -> bool {
        self.busy.get()
    }

    /// Returns the same, untracked.
    pub(crate) fn busy_untracked(&self) -> bool {
        self.busy.get_untracked()
    }

    /// Returns the last known answer and its status. Untracked: the rendered one follows a frame later, and never in a
    /// hidden tab.
    pub(crate) fn last_answer(self) -> Option<Answer> {
        self.state.try_with_value(|state| {
            let last = state.transcript.entries().last().filter(|last| last.role == Role::Assistant)?;
            Some(Answer { id: last.id, status: last.status, stop_reason: last.stop_reason.clone() })
        })?
    }

    /// Reads the files of a message.
    pub(crate) fn with_files<T>(self, of: FilesOf, read: impl FnOnce(&[AttachedFile]) -> T) -> T {
        match of {
            FilesOf::Draft => self.files.with(|files| read(files)),
            FilesOf::Edit => {
                self.edited.with(|edited| read(edited.as_ref().map(|edited| &*edited.files).unwrap_or_default()))
            }
        }
    }

    /// Returns `true` while a question is being edited.
    pub(crate) fn is_edited(&self, id: MessageId) -> bool {
        self.edited.with(|edited| edited.as_ref().is_some_and(|edited| edited.id == id))
    }

    /// Returns the state of the full texts of a call.
    pub(crate) fn call_loading(self, id: ToolCallId) -> Loading {
        self.calls.with(|calls| calls.get(&id).cloned().unwrap_or(Loading::Idle))
    }

    /// Performs an action of the user.
    pub(crate) fn act(self, action: Action) {
        self.feed(Input::User(action));
    }

    /// Reports that the conversation is about to be deleted from this page, or that the deletion was undone.
    pub(crate) fn set_leaving(self, is_leaving: bool) {
        self.feed(Input::Leaving(is_leaving));
    }

    /// Handles an input, carries out its effects, and keeps unsent texts, as soon as the code for that has loaded. Does
    /// nothing once the session has ended.
    pub(super) fn feed(self, input: Input) {
        if self.chunk.is_none_or(|chunk| chunk.is_here.get_untracked()) {
            self.handle_held();
            self.handle(input);
        } else {
            self.hold(input);
        }
    }

    /// Holds an input back. Loads the code that handles it, unless nothing has happened yet that needs it.
    fn hold(self, input: Input) {
        let Some(uuid) = self.state.try_with_value(State::uuid) else { return };
        let had_news = self.held.try_with_value(HeldInputs::has_news).unwrap_or_default();
        let may_change = uuid.is_some() && may_change_conversation(&input, had_news);
        let input = match input {
            Input::News(News::Event(event)) if Some(event.conversation_id) != uuid => return,
            // The conversation is loaded again then.
            Input::News(_) => Input::News(News::Missed),
            input => input,
        };
        let has_acted = self.held.try_with_value(HeldInputs::has_user_action).unwrap_or_default();
        match &input {
            Input::User(Action::Write(text)) if !has_acted => return self.write_early(text),
            Input::Elsewhere(Elsewhere::Draft(text)) if !has_acted => return self.set_early(text),
            Input::User(action) => self.show_early(action),
            _ => {}
        }
        let is_needed = may_change || matches!(input, Input::User(_)) || !self.can_wait();
        self.held.try_update_value(|held| held.push(input));
        if is_needed {
            self.want_code();
        }
    }

    /// Returns `true` for a new chat or an idle conversation without anything to send, to upload or to edit.
    fn can_wait(self) -> bool {
        self.was_idle && self.kept.try_with_value(Kept::has_only_text) == Some(true)
    }

    /// Sets the text of the message field, and keeps it, as the reducer would.
    fn write_early(self, text: &str) {
        self.set_early(text);
        self.keep_early(text);
    }

    /// Sets the text of the message field.
    fn set_early(self, text: &str) {
        self.state.update_value(|state| text.clone_into(&mut state.draft));
        self.draft.set(text.to_owned());
        self.kept.update_value(|kept| text.clone_into(&mut kept.draft));
    }

    /// Keeps a text as the draft, in case the code that handles inputs never loads.
    fn keep_early(self, text: &str) {
        self.kept.update_value(|kept| {
            text.clone_into(&mut kept.draft);
            keep_draft(kept.conversation, text);
        });
    }

    /// Shows what the user writes and chooses, and the first message of a chat.
    fn show_early(self, action: &Action) {
        let is_first = self.place.with_untracked(|place| matches!(place, Place::NewChat | Place::Loading(_)))
            && self.unstored.with_untracked(Option::is_none)
            && self.files.with_untracked(Vec::is_empty);
        let sent = match action {
            Action::Write(text) => {
                self.draft.set(text.clone());
                let sent = self.unstored.with_untracked(|sent| sent.as_ref().map(|sent| sent.content.clone()));
                return self.keep_early(&joined(&sent.unwrap_or_default(), text));
            }
            Action::PlanFirst(plans_first) => return self.next.update(|next| next.1 = *plans_first),
            Action::LoadEarlier => return self.earlier.set(Loading::Running),
            Action::ChooseNext(model) => return self.next.update(|next| next.0.clone_from(model)),
            Action::SendDraft(_) => self.draft.get_untracked(),
            Action::Send(text, _) => text.clone(),
            _ => return,
        };
        if !is_first || sent.trim().is_empty() {
            return;
        }
        match action {
            Action::SendDraft(_) => self.draft.set(String::new()),
            // Until it is sent, it is kept as a draft.
            _ if self.draft.with_untracked(String::is_empty) => self.keep_early(&sent),
            _ => {}
        }
        self.unstored.set(Some(UnsentMessage { content: sent, ..UnsentMessage::default() }));
    }

    /// Loads the code that handles inputs, because the shown messages are out of date or the user waits for it.
    pub(crate) fn want_code(self) {
        if let Some(chunk) = self.chunk {
            chunk.want();
        }
    }

    fn handle_held(self) {
        while let Some(input) = self.held.try_update_value(HeldInputs::next).flatten() {
            self.handle(input);
        }
    }

    fn handle(self, input: Input) {
        // Its code is here, so it does not wait.
        let _ = handle(self, input).now_or_never();
    }

    /// Loads the code that handles inputs, and returns `true` if that succeeded.
    pub(crate) async fn load() -> bool {
        load_handling().await.is_ok()
    }

    /// Adopts a change that another tab made to the kept texts, unless the user is typing in this tab.
    fn adopt_other_tab(self, name: &str, text: String) {
        let Some(conversation) = self.kept.try_with_value(|kept| kept.conversation) else { return };
        let Some(change) = Elsewhere::of(name, text, conversation) else { return };
        let is_typed_in = browser::has_document_focus() && browser::has_focus_within("input, textarea");
        if matches!(change, Elsewhere::Draft(_)) && is_typed_in {
            return;
        }
        self.feed(Input::Elsewhere(change));
    }

    /// Copies the changed state into the signals. The transcript follows with the effects `Draw` and `DrawSoon`.
    fn show(self) {
        self.state.with_value(|state| {
            set(self.place, &state.place);
            set(self.is_leaving, &state.is_leaving);
            set(self.phase, &state.phase());
            set(self.unstored, &state.unstored);
            set(self.draft, &state.draft);
            set(self.files, &state.files);
            set(self.waits_for_files, &state.send_after_uploads.is_some());
            set(self.notice, &state.notice);
            set(self.stopping, &state.is_stopping());
            set(self.earlier, &state.earlier());
            set(self.is_going, &state.is_going());
            set(self.edited, &state.edited);
            set(self.next, &(state.next_model.clone(), state.plans_first));
            set(self.queue, &state.queue);
            set(self.calls, &state.calls);
        });
    }

    /// Keeps unsent texts for the next time the page is loaded. A change that another tab made is not written again,
    /// because by then that tab may have changed more.
    fn keep(self, is_elsewhere: bool) {
        let Some(now) = self.state.try_with_value(Kept::now) else { return };
        let before = self.kept.get_value();
        if now != before {
            if !is_elsewhere {
                now.write(&before);
            }
            self.kept.set_value(now);
        }
    }
}

/// Applies an input to the state, shows the state, and carries out the effects.
#[wasm_split(messages, wasm_split_path = ::leptos::wasm_split, preload(load_handling), fallible)]
#[allow(clippy::unnecessary_wraps, reason = "the error is that the chunk could not be loaded")]
fn handle(session: Session, input: Input) -> Result<(), SplitLoaderError> {
    let is_elsewhere = matches!(input, Input::Elsewhere(_));
    if let Some(effects) = session.state.try_update_value(|state| reduce(state, input)) {
        session.show();
        for effect in effects {
            session.carry_out(effect);
        }
        session.keep(is_elsewhere);
    }
    Ok(())
}

fn set<T: Clone + PartialEq + Send + Sync + 'static>(signal: RwSignal<T>, value: &T) {
    if signal.try_with_untracked(|held| held != value) == Some(true) {
        signal.set(value.clone());
    }
}
