//! The shell around a session: the only part of it that touches the browser. It tells the reducer what happens, carries
//! out what that decides, and holds what is drawn in signals.

use std::{collections::BTreeMap, time::Duration};

use futures_util::future::AbortHandle;
use leptos::{
    prelude::*,
    task::{spawn_local, tick},
};
use tallybook_protocol::{Conversation, MessageId, NewMessage, ToolCallId, Window};
use uuid::Uuid;

use super::{
    drawing::{Drawing, DrawnEntry},
    effect::{Effect, Request},
    input::{Action, Answer, Input},
    queue::Queue,
    reduce::reduce,
    state::{Edited, Loading, Phase, Place, State, Step, Ticket},
    storage::{forget_draft, forget_sent, keep_draft, keep_queue, kept_draft, kept_queue},
};
use crate::{
    api::{self, ApiError, EventStream},
    browser,
    data::MESSAGES_AT_ONCE,
    feed::Feed,
    goal::Goal,
    language::use_language,
    models::Models,
    scroll,
    task::spawn,
    tools::Tools,
    transcript::{ExpandAll, Transcript},
};

/// How often a hidden tab looks whether the turn that it follows is over.
const HIDDEN_PAUSE: Duration = Duration::from_secs(10);

/// Where a session leads to.
#[derive(Clone, Copy)]
pub(crate) struct Ways {
    /// The new chat became a conversation.
    pub(crate) became: Callback<Uuid>,
    /// Leaves for a new chat.
    pub(crate) open_new_chat: Callback<()>,
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
    /// The model that was chosen for the next message alone.
    pub(crate) next_model: RwSignal<Option<String>>,
    /// What waits for the end of the answer.
    pub(crate) queue: RwSignal<Queue>,
    /// What was last kept of what is being written and of what waits, and for which conversation.
    kept: StoredValue<(Option<Uuid>, String, Queue)>,
    /// The task that waits for what the session waits for.
    reading: StoredValue<Option<AbortHandle>>,
    /// All other tasks.
    tasks: StoredValue<Vec<AbortHandle>>,
    ways: Ways,
    models: Models,
    pub(crate) tools: Tools,
}

impl Session {
    /// A session of a place, with the conversation there when it is here already.
    pub(crate) fn new(place: Place, conversation: Option<Conversation>, feed: Feed, ways: Ways) -> Self {
        let uuid = match &place {
            Place::Loading(uuid) | Place::Failed(uuid, _) | Place::Open(uuid) => Some(*uuid),
            Place::NewChat | Place::Missing | Place::Deleted => None,
        };
        let (kept, kept_queue) = (kept_draft(uuid), kept_queue(uuid));
        let mut state = State::new(place, conversation, kept.clone(), use_language());
        state.restore_queue(kept_queue.clone());
        let phase = RwSignal::new(state.phase());
        let queue = RwSignal::new(state.queue.clone());
        let (place, draft) = (RwSignal::new(state.place.clone()), RwSignal::new(state.draft.clone()));
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
            busy: Memo::new(move |_| phase.get() != Phase::Idle),
            unstored: RwSignal::new(None),
            draft,
            notice: RwSignal::new(None),
            stopping: RwSignal::new(false),
            earlier: RwSignal::new(Loading::Idle),
            revealed: RwSignal::new(None),
            is_going: RwSignal::new(false),
            expand_all: RwSignal::new(ExpandAll::default()),
            calls: RwSignal::default(),
            edited: RwSignal::new(None),
            next_model: RwSignal::new(None),
            queue,
            kept: StoredValue::new((uuid, kept, kept_queue)),
            reading: StoredValue::new(None),
            tasks: StoredValue::default(),
            ways,
            state,
        };
        feed.subscribe(move |news| session.feed(Input::News(news)));
        // Effects run in a browser alone, once the page is there.
        leptos::prelude::Effect::new(move || {
            session.feed(Input::Alive);
            let attended = move |_| session.feed(Input::Hidden(browser::is_hidden()));
            let shown = window_event_listener_untyped("visibilitychange", attended);
            let online = window_event_listener_untyped("online", move |_| session.feed(Input::Online));
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
            session.tasks.try_with_value(|tasks| tasks.iter().for_each(AbortHandle::abort));
        });
        session
    }

    /// A message, as it changes, for as long as the component that asks for it is there.
    pub(crate) fn entry(self, id: MessageId) -> ReadSignal<DrawnEntry> {
        self.drawing.entry(id)
    }

    /// Whether a turn runs or is about to.
    pub(crate) fn is_busy(&self) -> bool {
        self.busy.get()
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
        let Some(effects) = self.state.try_update_value(|state| reduce(state, input)) else { return };
        self.show();
        for effect in effects {
            self.carry_out(effect);
        }
        self.keep();
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
            set(self.next_model, &state.next_model);
            set(self.queue, &state.queue);
            set(self.calls, &state.calls);
        });
    }

    /// Keeps what is written here for the next time the page is loaded.
    fn keep(self) {
        let Some(now) = self.state.try_with_value(|state| (state.uuid(), state.unsent(), state.queue.clone())) else {
            return;
        };
        let before = self.kept.get_value();
        if now == before {
            return;
        }
        if now.0 != before.0 {
            forget_draft(before.0);
        }
        keep_draft(now.0, &now.1);
        keep_queue(now.0, &now.2);
        self.kept.set_value(now);
    }

    fn carry_out(self, effect: Effect) {
        match effect {
            Effect::Read(ticket, request) => {
                self.let_go();
                self.reading.set_value(Some(spawn(self.wait_for(ticket, request))));
            }
            Effect::LetGo => self.let_go(),
            Effect::Stop(ticket, uuid) => {
                self.spawn(async move { self.feed(Input::Stopped(ticket, api::stop(uuid).await)) });
            }
            Effect::LoadEarlier(ticket, uuid, first, from) => {
                self.spawn(async move {
                    let window = Window { limit: Some(MESSAGES_AT_ONCE), before: Some(first), from };
                    let page = api::find_conversation(uuid, window).await;
                    self.feed(Input::Earlier(ticket, first, Box::new(page)));
                });
            }
            Effect::DrawEarlier(ticket) => {
                scroll::keep_place();
                self.drawing.draw();
                self.spawn(async move {
                    browser::next_frame().await;
                    // What comes in within a frame would be seen before it is put in its place in the next.
                    browser::sleep(Duration::ZERO).await;
                    self.feed(Input::Drawn(ticket));
                });
            }
            Effect::LoadCall(id) => {
                self.spawn(async move { self.feed(Input::Call(id, Box::new(api::find_tool_call(id).await))) });
            }
            Effect::Draw => self.drawing.draw(),
            Effect::DrawSoon => self.drawing.draw_soon(),
            Effect::Became(uuid) => self.ways.became.run(uuid),
            Effect::OpenNewChat => self.ways.open_new_chat.run(()),
            Effect::AdoptDraft => self.feed(Input::Adopted(kept_draft(None))),
            Effect::Reveal(goal) => self.revealed.set(Some(goal)),
            Effect::FocusVersion(wanted, step) => {
                self.spawn(focus_version(wanted, step));
            }
        }
    }

    async fn wait_for(self, ticket: Ticket, request: Request) {
        let answer = |answer| self.feed(Input::Answer(ticket, answer));
        match request {
            Request::Make(message) => {
                let off = self.tools.chosen_for_new_chat();
                let made = api::create_conversation(self.models.chosen_for_new_chat(), off.clone()).await;
                let made = made.map(|made| {
                    self.models.learn(Some(made.uuid), made.model);
                    self.tools.became(made.uuid, off);
                    made.uuid
                });
                match made {
                    Ok(uuid) if self.is_gone() => deliver(uuid, &message).await,
                    made => answer(Answer::Made(made)),
                }
            }
            Request::Send(uuid, message) => {
                let sent = api::send_message(uuid, &message).await;
                if sent.is_ok() && self.is_gone() {
                    return forget_sent(Some(uuid), &message);
                }
                self.open(ticket, sent).await;
            }
            Request::Regenerate(uuid, id, model) => self.open(ticket, api::regenerate(uuid, id, model).await).await,
            Request::Continue(uuid) => self.open(ticket, api::continue_turn(uuid).await).await,
            Request::Decide(uuid, decisions) => match api::decide(uuid, decisions).await.transpose() {
                Some(opened) => self.open(ticket, opened).await,
                None => answer(Answer::Noted),
            },
            Request::Select(uuid, id, window) => {
                answer(Answer::Selected(api::select_message(uuid, id, window).await));
            }
            Request::Find(uuid, window) => {
                let found = api::find_conversation(uuid, window).await;
                if let (Ok(Some(found)), false) = (&found, self.is_gone()) {
                    self.models.learn(Some(uuid), found.summary.model.clone());
                }
                answer(Answer::Found(found));
            }
            Request::Join(uuid, after) => match api::join(uuid, after.as_deref()).await {
                Ok(Some(stream)) => {
                    answer(Answer::Joined(Ok(true)));
                    self.listen(ticket, stream).await;
                }
                Ok(None) => answer(Answer::Joined(Ok(false))),
                Err(error) => answer(Answer::Joined(Err(error))),
            },
            Request::Second => {
                browser::sleep(Duration::from_secs(1)).await;
                answer(Answer::Second);
            }
            Request::HiddenPause => {
                browser::sleep(HIDDEN_PAUSE).await;
                answer(Answer::Second);
            }
        }
    }

    /// Whether its component has gone away.
    fn is_gone(self) -> bool {
        self.state.is_disposed()
    }

    async fn open(self, ticket: Ticket, opened: Result<EventStream, ApiError>) {
        match opened {
            Ok(stream) => {
                self.feed(Input::Answer(ticket, Answer::Opened(Ok(()))));
                self.listen(ticket, stream).await;
            }
            Err(error) => self.feed(Input::Answer(ticket, Answer::Opened(Err(error)))),
        }
    }

    /// Reads a stream until it breaks off or the turn is over.
    async fn listen(self, ticket: Ticket, mut stream: EventStream) {
        while let Some(events) = stream.next().await {
            let is_over = events.iter().any(|(_, event)| event.is_terminal());
            let events = Input::Answer(ticket, Answer::Events(events));
            if is_over {
                // What follows may be waited for at once, and the stream is still to be closed by the server.
                spawn_local(async move { stream.finish().await });
                return self.feed(events);
            }
            self.feed(events);
        }
        self.feed(Input::Answer(ticket, Answer::Broke));
    }

    fn let_go(self) {
        if let Some(reading) = self.reading.try_update_value(Option::take).flatten() {
            reading.abort();
        }
    }

    /// Runs `task` until it ends or the component goes away.
    fn spawn(self, task: impl Future<Output = ()> + 'static) {
        let handle = spawn(task);
        self.tasks.update_value(|tasks| tasks.push(handle));
    }
}

/// Sends the first message of a conversation after its reader went elsewhere.
async fn deliver(uuid: Uuid, message: &NewMessage) {
    if api::send_message(uuid, message).await.is_ok() {
        forget_sent(None, message);
    }
}

/// After whatever follows the newest text has had its turn in this frame.
async fn focus_version(wanted: MessageId, step: Step) {
    tick().await;
    request_animation_frame(move || {
        if !browser::focus(&step.button(wanted)) {
            browser::focus(&step.back().button(wanted));
        }
    });
}

fn set<T: Clone + PartialEq + Send + Sync + 'static>(signal: RwSignal<T>, value: &T) {
    if signal.try_with_untracked(|held| held != value) == Some(true) {
        signal.set(value.clone());
    }
}
