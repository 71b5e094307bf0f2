//! A page, a server, and the requests and responses between them. Events happen one at a time, and the invariants are
//! checked after each.

mod edits;
mod fields;

use std::collections::BTreeMap;

use tallybook_protocol::{
    FileInfo,
    MessageStatus::{Complete, Stopped},
    Window,
};

use super::{interleavings::Happening, screen::Screen, server::Server, *};
use crate::{
    session::{
        files::AttachedFile,
        input::Creation,
        shown::{Edited, Loading, Step},
    },
    transcript::Entry,
};

/// A request or response on its way.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a world holds a handful of them")]
enum UnderWay {
    /// A request on its way to the server.
    Request(Effect),
    /// A response on its way to the page, with the stream that it opens.
    Answer(Input, Option<Stream>),
}

/// A subscriber of a turn at the server.
#[derive(Clone, Debug)]
struct Stream {
    ticket: Ticket,
    turn: u32,
    received: usize,
    first: Option<ChatEvent>,
}

pub(super) struct World {
    page: TestPage,
    server: Server,
    under_way: Vec<UnderWay>,
    stream: Option<Stream>,
    typed: Vec<String>,
    last_typed: usize,
    /// Texts of queued messages, by their IDs.
    queued: BTreeMap<String, String>,
    /// Files that the user attached, by their IDs at the server.
    attached: Vec<Uuid>,
    last_file: u128,
    /// A text and the number of a file that are left in the field of the new chat.
    for_new_chat: Option<(String, u128)>,
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
            attached: Vec::new(),
            last_file: 0,
            for_new_chat: None,
            screen: Screen::default(),
        };
        world.feed(Input::Ready);
        world
    }

    fn feed(&mut self, input: Input) {
        let was_gone = self.page.state.place == Place::Deleted;
        for effect in self.page.feed(input).to_vec() {
            match effect {
                Effect::Perform(..) | Effect::Abort | Effect::Stop(..) | Effect::LoadEarlier(..) if was_gone => {
                    panic!("{effect:?} for a conversation that is gone");
                }
                // The previous request may still arrive at the server.
                Effect::Perform(..) => {
                    self.stream = None;
                    self.under_way.push(UnderWay::Request(effect));
                }
                Effect::Abort => self.stream = None,
                Effect::Stop(..) | Effect::LoadEarlier(..) | Effect::LoadCall(_) | Effect::Upload(_) => {
                    self.under_way.push(UnderWay::Request(effect));
                }
                Effect::DrawEarlier(ticket) => {
                    self.screen.draw(&self.page.state.transcript);
                    self.under_way.push(UnderWay::Answer(Input::Drawn(ticket), None));
                }
                Effect::Draw => self.screen.draw(&self.page.state.transcript),
                Effect::DrawSoon => self.screen.draw_soon(),
                Effect::AdoptDraft => self.adopt_draft(),
                _ => {}
            }
        }
        self.check();
    }

    /// Checks the invariants.
    fn check(&self) {
        let state = &self.page.state;
        for typed in &self.typed {
            assert!(self.has_text(typed), "{typed} is lost: {state:?}");
        }
        for id in &self.attached {
            assert!(self.has_file(*id), "the file {id} is lost: {state:?}");
        }
        let ids: Vec<_> = state.files.iter().map(fields::id_of).collect();
        assert!((1..ids.len()).all(|at| !ids[..at].contains(&ids[at])), "a file is in the field twice: {state:?}");
        assert!(!state.is_stopping() || state.phase() != Phase::Idle, "a stop is pending although no turn runs");
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

    fn end_stream(&mut self, response: Response) {
        if let Some(stream) = self.stream.take() {
            self.feed(Input::Response(stream.ticket, response));
        }
    }

    pub(super) fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Send => {
                let text = self.type_text();
                let draft = super::super::state::joined(&self.page.state.draft, &text);
                self.feed(Input::User(Action::Write(draft)));
                self.feed(Input::User(Action::SendDraft(text)));
                let queued = self.page.state.queue.messages.iter();
                self.queued.extend(queued.map(|queued| (queued.id.clone(), queued.text.clone())));
            }
            Happening::SendNow => self.feed(Input::User(Action::SendNow)),
            Happening::BeginEdit(_)
            | Happening::EditLast
            | Happening::WriteEdit
            | Happening::Edit
            | Happening::Unqueue(_)
            | Happening::EditQueued(_)
            | Happening::WriteQueued
            | Happening::ChangeQueued
            | Happening::RemoveEditedFile(_) => self.edit(happening),
            Happening::Attach
            | Happening::RemoveFile(_)
            | Happening::RetryUpload(_)
            | Happening::ChooseNext(_)
            | Happening::PlanFirst(_) => self.change_field(happening),
            Happening::OtherTab(what) => self.other_tab(what),
            Happening::WriteForNewChat => self.write_for_new_chat(),
            Happening::LoadCall(which) => {
                let calls = self.page.state.transcript.entries().iter().flat_map(|entry| entry.calls());
                let ids: Vec<_> = calls.map(|call| call.id).collect();
                if let Some(at) = which.checked_rem(ids.len()) {
                    self.feed(Input::User(Action::LoadCall(ids[at])));
                }
            }
            Happening::RegenerateBy(which) => {
                if let Some((id, _)) = self.entry(which, Role::Assistant) {
                    self.feed(Input::User(Action::RegenerateBy(id, "other".to_owned())));
                }
            }
            Happening::Regenerate(which) => {
                if let Some((id, _)) = self.entry(which, Role::Assistant) {
                    self.feed(Input::User(Action::Regenerate(id)));
                }
            }
            Happening::Step(which, newer) => {
                let role = if which % 2 == 0 { Role::User } else { Role::Assistant };
                if let Some((id, siblings)) = self.entry(which / 2, role) {
                    let step = if newer { Step::Newer } else { Step::Older };
                    self.feed(Input::User(Action::Step(id, siblings, step)));
                }
            }
            Happening::Continue => self.feed(Input::User(Action::Continue(None))),
            Happening::Decide(which) => {
                let waiting = self.page.state.transcript.awaiting().into_iter().flat_map(Entry::calls);
                let waiting: Vec<_> = waiting.filter(|call| call.awaits_decision()).map(|call| call.id).collect();
                let chosen = if which == 2 { waiting } else { waiting.into_iter().skip(which).take(1).collect() };
                self.feed(Input::User(Action::Decide(chosen.into_iter().map(deciding::decision).collect())));
            }
            Happening::Stop => self.feed(Input::User(Action::Stop)),
            Happening::Earlier => self.feed(Input::User(Action::LoadEarlier)),
            Happening::GoTo(which) => self.go_to(which),
            Happening::Retry => self.feed(Input::User(Action::Retry)),
            Happening::Hide(is_hidden) => self.feed(Input::Hidden(is_hidden)),
            Happening::Leaving(is_leaving) => self.feed(Input::Leaving(is_leaving)),
            Happening::Online => self.feed(Input::Online),
            Happening::Frame => self.screen.frame(&self.page.state.transcript),
            Happening::Arrive(which) => self.arrive(which),
            Happening::Lose(which) => self.lose(which),
            Happening::Answer(which) => self.answer(which),
            Happening::Tell(count) => self.deliver_events(count),
            Happening::Break => self.end_stream(Response::Interrupted),
            Happening::Crowd => self.end_stream(Response::Crowded),
            Happening::Write => self.server.write(),
            Happening::End => {
                let _ = self.server.end(Complete);
            }
            Happening::Pause => self.server.pause(),
            Happening::Elsewhere(what) => self.elsewhere(what),
            // The page does not know the conversation yet, and would create another one with the same ID.
            Happening::Delete if self.page.state.uuid().is_none() => {}
            Happening::Delete => self.server.delete(),
            Happening::Feed => {
                if !self.server.feed.is_empty() {
                    let event = Server::event(self.server.feed.remove(0));
                    self.feed(Input::News(News::Event(event)));
                }
            }
            Happening::FeedBreaks => {
                self.server.feed.clear();
                self.feed(Input::News(News::Missed));
            }
        }
    }

    fn go_to(&mut self, which: usize) {
        let Some(at) = which.checked_rem(self.server.messages.len()) else { return };
        let goal = going::goal(self.server.messages[at].id);
        self.feed(Input::User(Action::GoTo(goal)));
    }

    fn elsewhere(&mut self, what: usize) {
        if self.page.state.uuid().is_none() {
            // The page does not know the conversation, and the next message creates another one.
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
                let new = UnsentMessage { content: "Elsewhere".to_owned(), ..Default::default() };
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

    /// Lets the server carry out a request, and sends the response on its way.
    fn serve(&mut self, effect: Effect) {
        let server = &mut self.server;
        let mut stream = None;
        let input = match effect {
            Effect::Stop(ticket, _) => Input::Stopped(ticket, server.end(Stopped)),
            Effect::LoadCall(id) => Input::Call(id, Box::new(server.call(id))),
            Effect::Upload(key) => {
                self.feed(Input::UploadProgress(key.clone(), 50));
                Input::Uploaded(key.clone(), Box::new(fields::upload(&key)))
            }
            Effect::LoadEarlier(ticket, _, first, from) => {
                let window = Window { limit: Some(50), before: Some(first), from };
                Input::Earlier(ticket, first, Box::new(Ok(server.conversation(window))))
            }
            Effect::Perform(ticket, request) => {
                let open = |opened: Result<(), ApiError>, server: &Server| {
                    let stream = Stream { ticket, turn: server.turn, received: 0, first: None };
                    let stream = opened.is_ok().then_some(stream);
                    (Response::Started(opened), stream)
                };
                let (answer, opened) = match request {
                    Request::Create(_) if self.page.state.is_stop_wanted() => {
                        (Response::Created(Ok(Creation::Stopped)), None)
                    }
                    Request::Create(message) => {
                        server.make();
                        match open(server.send(&message), server) {
                            (Response::Started(Ok(())), stream) => {
                                (Response::Created(Ok(Creation::Accepted(HERE))), stream)
                            }
                            (Response::Started(Err(error)), _) => (Response::Created(Err(error)), None),
                            other => other,
                        }
                    }
                    Request::Send(_, message) => open(server.send(&message), server),
                    Request::Regenerate(_, MessageId(id), _) => open(server.regenerate(id), server),
                    Request::Continue(..) => open(server.continue_turn(), server),
                    Request::Decide(_, decisions) => match server.decide(&decisions) {
                        Ok(false) => (Response::DecisionsStored, None),
                        Ok(true) => open(Ok(()), server),
                        Err(error) => open(Err(error), server),
                    },
                    Request::Select(_, MessageId(id), window) => {
                        let selected = server.select(id).and_then(|()| server.conversation(window).ok_or(refused(404)));
                        (Response::Selected(selected), None)
                    }
                    Request::Load(_, window) => (Response::Loaded(Ok(server.conversation(window))), None),
                    Request::Join(_, _) => match server.join() {
                        Ok(None) => (Response::Joined(Ok(false)), None),
                        Ok(first) => {
                            let stream = Stream { ticket, turn: server.turn, received: server.event_count(), first };
                            (Response::Joined(Ok(true)), Some(stream))
                        }
                        Err(error) => (Response::Joined(Err(error)), None),
                    },
                    Request::Tick | Request::CrowdedPause | Request::HiddenPause => (Response::Tick, None),
                };
                stream = opened;
                Input::Response(ticket, answer)
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
            UnderWay::Request(Effect::LoadCall(id)) | UnderWay::Answer(Input::Call(id, _), _) => {
                Input::Call(id, Box::new(Err(ApiError::Unreachable)))
            }
            UnderWay::Request(Effect::Upload(key)) | UnderWay::Answer(Input::Uploaded(key, _), _) => {
                Input::Uploaded(key, Box::new(Err(ApiError::Unreachable)))
            }
            UnderWay::Request(Effect::LoadEarlier(ticket, _, first, _))
            | UnderWay::Answer(Input::Earlier(ticket, first, _), _) => {
                Input::Earlier(ticket, first, Box::new(Err(ApiError::Unreachable)))
            }
            UnderWay::Request(Effect::Perform(ticket, request)) => {
                let answer = match request {
                    Request::Create(_) => Response::Created(Err(ApiError::Unreachable)),
                    Request::Send(..) | Request::Regenerate(..) | Request::Continue(..) | Request::Decide(..) => {
                        Response::Started(Err(ApiError::Unreachable))
                    }
                    Request::Select(..) => Response::Selected(Err(ApiError::Unreachable)),
                    Request::Load(..) => Response::Loaded(Err(ApiError::Unreachable)),
                    Request::Join(..) => Response::Joined(Err(ApiError::Unreachable)),
                    Request::Tick | Request::CrowdedPause | Request::HiddenPause => Response::Tick,
                };
                Input::Response(ticket, answer)
            }
            UnderWay::Answer(Input::Response(ticket, answer), _) => {
                let answer = match answer {
                    Response::Created(Ok(Creation::Stopped)) => Response::Created(Ok(Creation::Stopped)),
                    // The response to the creation arrived, and the one to the message did not.
                    Response::Created(_) => Response::Created(Ok(Creation::Unknown(HERE))),
                    Response::Started(_) => Response::Started(Err(ApiError::Unreachable)),
                    Response::Joined(_) => Response::Joined(Err(ApiError::Unreachable)),
                    Response::Loaded(_) => Response::Loaded(Err(ApiError::Unreachable)),
                    Response::Selected(_) => Response::Selected(Err(ApiError::Unreachable)),
                    other => other,
                };
                Input::Response(ticket, answer)
            }
            // Not a request to the server.
            other => return self.under_way.push(other),
        };
        self.feed(failure);
    }

    fn answer(&mut self, which: usize) {
        let answers: Vec<_> =
            (0..self.under_way.len()).filter(|at| matches!(self.under_way[*at], UnderWay::Answer(..))).collect();
        let Some(&at) = which.checked_rem(answers.len()).and_then(|which| answers.get(which)) else { return };
        let UnderWay::Answer(input, stream) = self.under_way.remove(at) else { return };
        self.feed(input);
        // The page closes the stream of a response that it no longer waits for.
        if let Some(stream) = stream.filter(|stream| stream.ticket == self.page.state.connection_ticket) {
            self.stream = Some(stream);
        }
    }

    fn deliver_events(&mut self, count: usize) {
        let Some(mut stream) = self.stream.clone() else { return };
        let mut events: Vec<_> = stream.first.take().into_iter().collect();
        match self.server.events_after(stream.turn, stream.received) {
            Some(log) => {
                let next: Vec<_> = log.iter().take(count).cloned().collect();
                stream.received += next.len();
                events.extend(next);
            }
            // That turn is over and another one runs, so this subscriber has to start over.
            None if events.is_empty() => return self.happen(Happening::Break),
            None => {}
        }
        if events.is_empty() {
            return;
        }
        let ticket = stream.ticket;
        self.stream = Some(stream);
        let events = events.into_iter().map(|event| (Some("1".to_owned()), event)).collect();
        self.feed(Input::Response(ticket, Response::Events(events)));
    }

    /// Delivers everything that is on its way, until nothing happens any more, and checks the final state.
    pub(super) fn settle(&mut self) {
        self.feed(Input::Hidden(false));
        self.feed(Input::Leaving(false));
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
            self.deliver_events(100);
            self.feed(Input::Online);
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
        assert!(!state.files.iter().any(AttachedFile::is_uploading), "every upload has ended: {state:?}");
        assert_eq!(state.send_after_uploads, None, "the message was sent, or a notice says why not");
        assert!(!state.calls.values().any(|loading| *loading == Loading::Running), "every call was loaded: {state:?}");
        assert_eq!(state.link, None, "the user has reached the message, or a notice says why not");
        // The queue is sent, or the page shows that it waits.
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
        let begin =
            begin.unwrap_or_else(|| panic!("more messages are shown than stored: {shown:?} instead of {stored:?}"));
        assert!(state.transcript.has_earlier() == (begin > 0), "{state:?}");
        assert_eq!(shown, stored[begin..]);
    }
}
