//! A page and a server with everything that is under way between them. Things happen to it one at a time, and what must hold
//! at all times is checked after each.

use std::collections::BTreeMap;

use tallybook_protocol::{
    MessageStatus::{Complete, Stopped},
    Window,
};

use super::{interleavings::Happening, screen::Screen, server::Server, *};
use crate::{
    session::{
        input::Made,
        shown::{Edited, Step},
    },
    transcript::Entry,
};

/// What is under way between page and server.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a world holds a handful of them")]
enum UnderWay {
    /// On its way to the server.
    Request(Effect),
    /// On its way back, with the stream that it opens.
    Answer(Input, Option<Stream>),
}

/// A reader of a turn at the server.
#[derive(Clone, Debug)]
struct Stream {
    ticket: Ticket,
    turn: u32,
    told: usize,
    first: Option<ChatEvent>,
}

pub(super) struct World {
    page: TestPage,
    server: Server,
    under_way: Vec<UnderWay>,
    stream: Option<Stream>,
    typed: Vec<String>,
    last_typed: usize,
    /// What waited for the end of an answer as it stands: by id.
    queued: BTreeMap<String, String>,
    screen: Screen,
}

impl World {
    pub(super) fn new(server: Server, place: Place) -> Self {
        let page = TestPage { state: State::new(place, None, String::new(), Language::English), done: Vec::new() };
        let mut world = Self {
            page,
            server,
            under_way: Vec::new(),
            stream: None,
            typed: Vec::new(),
            last_typed: 0,
            queued: BTreeMap::new(),
            screen: Screen::default(),
        };
        world.tell(Input::Alive);
        world
    }

    fn tell(&mut self, input: Input) {
        let was_gone = self.page.state.place == Place::Deleted;
        for effect in self.page.tell(input).to_vec() {
            match effect {
                Effect::Read(..) | Effect::LetGo | Effect::Stop(..) | Effect::LoadEarlier(..) if was_gone => {
                    panic!("{effect:?} for a conversation that is gone");
                }
                // What was waited for may arrive all the same.
                Effect::Read(..) => {
                    self.stream = None;
                    self.under_way.push(UnderWay::Request(effect));
                }
                Effect::LetGo => self.stream = None,
                Effect::Stop(..) | Effect::LoadEarlier(..) => self.under_way.push(UnderWay::Request(effect)),
                Effect::DrawEarlier(ticket) => {
                    self.screen.draw(&self.page.state.transcript);
                    self.under_way.push(UnderWay::Answer(Input::Drawn(ticket), None));
                }
                Effect::Draw => self.screen.draw(&self.page.state.transcript),
                Effect::DrawSoon => self.screen.draw_soon(),
                Effect::AdoptDraft => self.tell(Input::Adopted(String::new())),
                _ => {}
            }
        }
        self.check();
    }

    /// What holds at all times.
    fn check(&self) {
        let state = &self.page.state;
        let edited = state.edited.as_ref().map(|edited| edited.text.as_str()).unwrap_or_default();
        let unstored = state.unstored.as_deref().unwrap_or_default();
        for typed in &self.typed {
            let is_stored = self.server.messages.iter().any(|message| message.text.contains(typed));
            let queued = state.queue.messages.iter().map(|queued| queued.text.as_str());
            let is_here = queued.chain([state.draft.as_str(), unstored, edited]).any(|text| text.contains(typed));
            assert!(is_stored || is_here, "{typed} is lost: {state:?}");
        }
        assert!(!state.stopping || state.phase() != Phase::Idle, "it stops what does not run");
    }

    fn queued_id(&self, which: usize) -> Option<String> {
        let waiting = &self.page.state.queue.messages;
        Some(waiting.get(which.checked_rem(waiting.len())?)?.id.clone())
    }

    fn type_text(&mut self) -> String {
        self.last_typed += 1;
        let text = format!("<{}>", self.last_typed);
        self.typed.push(text.clone());
        text
    }

    fn entry(&self, which: usize, role: Role) -> Option<(MessageId, Vec<MessageId>)> {
        let found: Vec<_> = self.page.state.transcript.entries().iter().filter(|entry| entry.role == role).collect();
        let entry = found.get(which.checked_rem(found.len())?)?;
        Some((entry.id, entry.siblings.clone()))
    }

    fn end_stream(&mut self, answer: Answer) {
        if let Some(stream) = self.stream.take() {
            self.tell(Input::Answer(stream.ticket, answer));
        }
    }

    pub(super) fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Send => {
                let text = self.type_text();
                let draft = super::super::state::joined(&self.page.state.draft, &text);
                self.tell(Input::Reader(Action::Write(draft)));
                self.tell(Input::Reader(Action::SendDraft(text)));
                let queued = self.page.state.queue.messages.iter();
                self.queued.extend(queued.map(|queued| (queued.id.clone(), queued.text.clone())));
            }
            Happening::Unqueue(which) => {
                let Some(id) = self.queued_id(which) else { return };
                let before = self.page.state.queue.messages.clone();
                // Given up by whoever takes it out.
                let text = before.iter().find(|queued| queued.id == id).map(|queued| queued.text.clone());
                let text = text.unwrap_or_default();
                let typed = std::mem::take(&mut self.typed);
                self.tell(Input::Reader(Action::Unqueue(id)));
                let is_out = self.page.state.queue.messages.len() < before.len();
                self.typed = typed.into_iter().filter(|typed| !is_out || !text.contains(typed.as_str())).collect();
                self.check();
            }
            Happening::EditQueued(which) => {
                let id = self.queued_id(which);
                self.tell(Input::Reader(Action::EditQueued(id)));
            }
            Happening::ChangeQueued => {
                let queue = &self.page.state.queue;
                let edited = queue.messages.iter().find(|queued| Some(&queued.id) == queue.edited.as_ref());
                let Some(text) = edited.map(|edited| format!("{} and more", edited.text)) else { return };
                self.queued.insert(text.clone(), text.clone());
                self.tell(Input::Reader(Action::ChangeQueued(text.clone(), text)));
            }
            Happening::SendNow => self.tell(Input::Reader(Action::SendNow)),
            Happening::Edit(which) => {
                let Some((id, _)) = self.entry(which, Role::User) else { return };
                // As the page does, which offers it at rest alone; and what stands in an open field is not given up.
                if self.page.state.phase() == Phase::Idle
                    && self.page.state.edited.is_none()
                    && self.page.state.at_rest().is_some()
                {
                    let text = self.type_text();
                    self.page.state.edited = Some(Edited { id, text: text.clone(), is_changed: true });
                    self.tell(Input::Reader(Action::Edit(id, text.clone(), text)));
                }
            }
            Happening::Regenerate(which) => {
                if let Some((id, _)) = self.entry(which, Role::Assistant) {
                    self.tell(Input::Reader(Action::Regenerate(id)));
                }
            }
            Happening::Step(which, newer) => {
                let role = if which % 2 == 0 { Role::User } else { Role::Assistant };
                if let Some((id, siblings)) = self.entry(which / 2, role) {
                    let step = if newer { Step::Newer } else { Step::Older };
                    self.tell(Input::Reader(Action::Step(id, siblings, step)));
                }
            }
            Happening::Continue => self.tell(Input::Reader(Action::Continue)),
            Happening::Decide(which) => {
                let waiting = self.page.state.transcript.awaiting().into_iter().flat_map(Entry::calls);
                let waiting: Vec<_> = waiting.filter(|call| call.awaits_decision()).map(|call| call.id).collect();
                let chosen = if which == 2 { waiting } else { waiting.into_iter().skip(which).take(1).collect() };
                self.tell(Input::Reader(Action::Decide(chosen.into_iter().map(deciding::decision).collect())));
            }
            Happening::Stop => self.tell(Input::Reader(Action::Stop)),
            Happening::Earlier => self.tell(Input::Reader(Action::LoadEarlier)),
            Happening::GoTo(which) => self.go_to(which),
            Happening::Retry => self.tell(Input::Reader(Action::Retry)),
            Happening::Hide(is_hidden) => self.tell(Input::Hidden(is_hidden)),
            Happening::Leaving(is_leaving) => self.tell(Input::Leaving(is_leaving)),
            Happening::Online => self.tell(Input::Online),
            Happening::Frame => self.screen.frame(&self.page.state.transcript),
            Happening::Arrive(which) => self.arrive(which),
            Happening::Lose(which) => self.lose(which),
            Happening::Answer(which) => self.answer(which),
            Happening::Tell(count) => self.tell_stream(count),
            Happening::Break => self.end_stream(Answer::Broke),
            Happening::Crowd => self.end_stream(Answer::Crowded),
            Happening::Write => self.server.write(),
            Happening::End => {
                let _ = self.server.end(Complete);
            }
            Happening::Pause => self.server.pause(),
            Happening::Elsewhere(what) => self.elsewhere(what),
            // One that the page does not know of yet it would make again, and under the same name, as never happens.
            Happening::Delete if self.page.state.uuid().is_none() => {}
            Happening::Delete => self.server.delete(),
            Happening::Feed => {
                if !self.server.feed.is_empty() {
                    let event = Server::event(self.server.feed.remove(0));
                    self.tell(Input::News(News::Event(event)));
                }
            }
            Happening::FeedBreaks => {
                self.server.feed.clear();
                self.tell(Input::News(News::Missed));
            }
        }
    }

    fn go_to(&mut self, which: usize) {
        let Some(at) = which.checked_rem(self.server.messages.len()) else { return };
        let goal = going::goal(self.server.messages[at].id);
        self.tell(Input::Reader(Action::GoTo(goal)));
    }

    fn elsewhere(&mut self, what: usize) {
        if self.page.state.uuid().is_none() {
            // One that was made and never heard of is not the one that the next message makes.
            return;
        }
        let ids: Vec<_> = self.server.messages.iter().map(|message| message.id).collect();
        let id = what.checked_rem(ids.len()).map(|at| ids[at]);
        let _ = match (what % 4, id) {
            (0, Some(id)) => self.server.select(id),
            (1, Some(id)) => self.server.regenerate(id),
            (2, _) => match self.server.awaiting().map(|last| last.id) {
                Some(_) if what.is_multiple_of(3) => self.server.end(Stopped),
                Some(_) => {
                    let waiting = self.server.waiting().into_iter().map(deciding::decision).collect::<Vec<_>>();
                    self.server.decide(&waiting[..=what % waiting.len()]).map(|_| ())
                }
                None => self.server.continue_turn(),
            },
            _ => {
                let new = tallybook_protocol::NewMessage { content: "Elsewhere".to_owned(), ..Default::default() };
                if self.server.exists { self.server.send(&new) } else { Ok(()) }
            }
        };
    }

    fn requests(&self) -> Vec<usize> {
        let is_request = |at: &usize| matches!(self.under_way[*at], UnderWay::Request(_));
        (0..self.under_way.len()).filter(is_request).collect()
    }

    fn arrive(&mut self, which: usize) {
        let requests = self.requests();
        let Some(&at) = which.checked_rem(requests.len()).and_then(|which| requests.get(which)) else { return };
        let UnderWay::Request(effect) = self.under_way.remove(at) else { return };
        self.serve(effect);
    }

    /// The server does what it is asked, and its answer is on its way.
    fn serve(&mut self, effect: Effect) {
        let server = &mut self.server;
        let mut stream = None;
        let input = match effect {
            Effect::Stop(ticket, _) => Input::Stopped(ticket, server.end(Stopped)),
            Effect::LoadEarlier(ticket, _, first, from) => {
                let window = Window { limit: Some(50), before: Some(first), from };
                Input::Earlier(ticket, first, Box::new(Ok(server.conversation(window))))
            }
            Effect::Read(ticket, request) => {
                let open = |opened: Result<(), ApiError>, server: &Server| {
                    let stream = Stream { ticket, turn: server.turn, told: 0, first: None };
                    let stream = opened.is_ok().then_some(stream);
                    (Answer::Opened(opened), stream)
                };
                let (answer, opened) = match request {
                    Request::Make(_) if self.page.state.is_stop_wanted => (Answer::Made(Ok(Made::Stopped)), None),
                    Request::Make(message) => {
                        server.make();
                        match open(server.send(&message), server) {
                            (Answer::Opened(Ok(())), stream) => (Answer::Made(Ok(Made::Taken(HERE))), stream),
                            (Answer::Opened(Err(error)), _) => (Answer::Made(Err(error)), None),
                            other => other,
                        }
                    }
                    Request::Send(_, message) => open(server.send(&message), server),
                    Request::Regenerate(_, MessageId(id), _) => open(server.regenerate(id), server),
                    Request::Continue(_) => open(server.continue_turn(), server),
                    Request::Decide(_, decisions) => match server.decide(&decisions) {
                        Ok(false) => (Answer::Noted, None),
                        Ok(true) => open(Ok(()), server),
                        Err(error) => open(Err(error), server),
                    },
                    Request::Select(_, MessageId(id), window) => {
                        let selected = server.select(id).and_then(|()| server.conversation(window).ok_or(refused(404)));
                        (Answer::Selected(selected), None)
                    }
                    Request::Find(_, window) => (Answer::Found(Ok(server.conversation(window))), None),
                    Request::Join(_, _) => match server.join() {
                        Ok(None) => (Answer::Joined(Ok(false)), None),
                        Ok(first) => {
                            let stream = Stream { ticket, turn: server.turn, told: server.told_so_far(), first };
                            (Answer::Joined(Ok(true)), Some(stream))
                        }
                        Err(error) => (Answer::Joined(Err(error)), None),
                    },
                    Request::Second | Request::CrowdedPause | Request::HiddenPause => (Answer::Second, None),
                };
                stream = opened;
                Input::Answer(ticket, answer)
            }
            _ => return,
        };
        self.under_way.push(UnderWay::Answer(input, stream));
    }

    fn lose(&mut self, which: usize) {
        let Some(at) = which.checked_rem(self.under_way.len()) else { return };
        let lost = self.under_way.remove(at);
        let failure = match lost {
            UnderWay::Request(Effect::Stop(ticket, _)) | UnderWay::Answer(Input::Stopped(ticket, _), _) => {
                Input::Stopped(ticket, Err(ApiError::Unreachable))
            }
            UnderWay::Request(Effect::LoadEarlier(ticket, _, first, _))
            | UnderWay::Answer(Input::Earlier(ticket, first, _), _) => {
                Input::Earlier(ticket, first, Box::new(Err(ApiError::Unreachable)))
            }
            UnderWay::Request(Effect::Read(ticket, request)) => {
                let answer = match request {
                    Request::Make(_) => Answer::Made(Err(ApiError::Unreachable)),
                    Request::Send(..) | Request::Regenerate(..) | Request::Continue(_) | Request::Decide(..) => {
                        Answer::Opened(Err(ApiError::Unreachable))
                    }
                    Request::Select(..) => Answer::Selected(Err(ApiError::Unreachable)),
                    Request::Find(..) => Answer::Found(Err(ApiError::Unreachable)),
                    Request::Join(..) => Answer::Joined(Err(ApiError::Unreachable)),
                    Request::Second | Request::CrowdedPause | Request::HiddenPause => Answer::Second,
                };
                Input::Answer(ticket, answer)
            }
            UnderWay::Answer(Input::Answer(ticket, answer), _) => {
                let answer = match answer {
                    Answer::Made(Ok(Made::Stopped)) => Answer::Made(Ok(Made::Stopped)),
                    // That it was made was heard, and then nothing of the message.
                    Answer::Made(_) => Answer::Made(Ok(Made::Unknown(HERE))),
                    Answer::Opened(_) => Answer::Opened(Err(ApiError::Unreachable)),
                    Answer::Joined(_) => Answer::Joined(Err(ApiError::Unreachable)),
                    Answer::Found(_) => Answer::Found(Err(ApiError::Unreachable)),
                    Answer::Selected(_) => Answer::Selected(Err(ApiError::Unreachable)),
                    other => other,
                };
                Input::Answer(ticket, answer)
            }
            // Not of the network.
            other => return self.under_way.push(other),
        };
        self.tell(failure);
    }

    fn answer(&mut self, which: usize) {
        let answers: Vec<_> =
            (0..self.under_way.len()).filter(|at| matches!(self.under_way[*at], UnderWay::Answer(..))).collect();
        let Some(&at) = which.checked_rem(answers.len()).and_then(|which| answers.get(which)) else { return };
        let UnderWay::Answer(input, stream) = self.under_way.remove(at) else { return };
        self.tell(input);
        // One that is no longer waited for is let go with its stream.
        if let Some(stream) = stream.filter(|stream| stream.ticket == self.page.state.reader_ticket) {
            self.stream = Some(stream);
        }
    }

    fn tell_stream(&mut self, count: usize) {
        let Some(mut stream) = self.stream.clone() else { return };
        let mut events: Vec<_> = stream.first.take().into_iter().collect();
        match self.server.told(stream.turn, stream.told) {
            Some(log) => {
                let told: Vec<_> = log.iter().take(count).cloned().collect();
                stream.told += told.len();
                events.extend(told);
            }
            // Another turn runs by now, and this one is over: whoever is this late has to begin anew.
            None if events.is_empty() => return self.happen(Happening::Break),
            None => {}
        }
        if events.is_empty() {
            return;
        }
        let ticket = stream.ticket;
        self.stream = Some(stream);
        let events = events.into_iter().map(|event| (Some("1".to_owned()), event)).collect();
        self.tell(Input::Answer(ticket, Answer::Events(events)));
    }

    /// Lets everything come to rest: nothing is lost any more, and whoever is late is waited for.
    pub(super) fn settle(&mut self) {
        self.tell(Input::Hidden(false));
        self.tell(Input::Leaving(false));
        let _ = self.server.end(Complete);
        for _ in 0..2000 {
            let before = self.page.done.len();
            while !self.under_way.is_empty() {
                self.arrive(0);
                self.answer(0);
            }
            while !self.server.feed.is_empty() {
                self.happen(Happening::Feed);
            }
            self.tell_stream(100);
            self.tell(Input::Online);
            let _ = self.server.end(Complete);
            if self.under_way.is_empty() && self.page.done.len() == before {
                break;
            }
        }
        self.check();
        self.screen.frame(&self.page.state.transcript);
        let state = &self.page.state;
        self.screen.check(&state.transcript);
        let awaits = self.server.awaiting().is_some();
        assert_eq!(state.phase(), if awaits { Phase::Awaiting } else { Phase::Idle }, "{state:?}");
        assert_eq!(state.unstored, None);
        assert_eq!(state.goal, None, "whoever goes somewhere is there, or is told why not");
        // What waits goes on by itself, or says that it does not.
        let next = state.queue.next().filter(|_| state.place == Place::Open(HERE));
        assert!(
            next.is_none() || state.queue.waits || state.queue.is_held || !state.transcript.is_answered(),
            "{state:?}"
        );
        for (id, text) in &self.queued {
            let stored = self.server.messages.iter().filter(|message| message.client_id.as_ref() == Some(id));
            let texts: Vec<_> = stored.map(|message| message.text.as_str()).collect();
            assert!(texts.is_empty() || texts == [text.as_str()], "{text:?} was stored as {texts:?}");
        }
        let shown: Vec<_> = state.transcript.entries().iter().map(|e| (e.id.0, e.text.clone(), e.status)).collect();
        if state.place == Place::NewChat {
            return assert!(shown.is_empty() && self.server.messages.is_empty());
        }
        if !self.server.exists {
            assert!(matches!(state.place, Place::Deleted | Place::Missing | Place::NewChat), "{state:?}");
            return;
        }
        let branch = self.server.branch();
        let stored: Vec<_> = branch.iter().map(|m| (m.id, m.text.clone(), m.status)).collect();
        let begin = stored.len().checked_sub(shown.len());
        let begin = begin.unwrap_or_else(|| panic!("more is shown than there is: {shown:?} instead of {stored:?}"));
        assert!(state.transcript.has_earlier() == (begin > 0), "{state:?}");
        assert_eq!(shown, stored[begin..]);
    }
}
