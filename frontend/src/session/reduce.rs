//! The reducer: decides what an input changes in the state, and which effects follow. `lifecycle` opens and leaves
//! conversations and keeps them current, `send` sends and queues messages, `files` uploads the
//! files of the message field, `stream` follows turns, `history` loads
//! earlier messages and full texts of calls, and `links` goes to messages and versions. All of them use `waiting`.

mod files;
mod history;
mod lifecycle;
mod links;
mod send;
mod stream;
mod waiting;

use super::{
    connection::{Connection, Event, Refetch, RefetchReason, Scope, Starting},
    effect::{Effect, Request},
    input::{Action, Input, Response},
    shown::Place,
    state::{PendingAction, State, joined},
};

/// Applies an input to the state, and returns the effects to carry out.
pub(crate) fn reduce(state: &mut State, input: Input) -> Vec<Effect> {
    let mut effects = Vec::new();
    let out = &mut effects;
    match input {
        Input::Ready => state.begin(out),
        Input::User(action) => state.act(action, out),
        Input::Response(ticket, response) if ticket == state.connection_ticket => state.on_response(response, out),
        // The session no longer waits for this request.
        Input::Response(..) => {}
        Input::Stopped(ticket, outcome) => state.on_stopped(ticket, outcome, out),
        Input::Earlier(ticket, first, page) => state.on_earlier(ticket, first, *page, out),
        Input::Drawn(ticket) => state.on_drawn(ticket, out),
        Input::Call(id, call) => state.on_call(id, *call, out),
        Input::Rated(id, feedback, error) => {
            state.transcript.rate(id, feedback);
            state.notice = error.map(|error| error.message(state.text));
            out.push(Effect::Draw);
        }
        Input::Failed(error) => {
            state.notice = Some(error.message(state.text));
            out.push(Effect::Draw);
        }
        Input::News(news) => state.on_news(&news, out),
        Input::Leaving(is_leaving) => state.is_leaving = is_leaving,
        Input::Adopted(draft, files) => state.adopt(&draft, &files),
        Input::UploadProgress(key, percent) => state.on_upload_progress(&key, percent),
        Input::Uploaded(key, uploaded) => state.on_uploaded(&key, *uploaded, out),
        Input::Elsewhere(change) => state.on_other_tab(change),
        Input::Hidden(is_hidden) => state.on_hidden(is_hidden, out),
        Input::Online => state.on_online(out),
    }
    // Any input may be what these wait for.
    state.act_once_loaded(out);
    state.rescue_edit();
    state.poll_if_hidden(out);
    state.advance_link(out);
    state.send_next(out);
    effects
}

impl State {
    fn begin(&mut self, out: &mut Vec<Effect>) {
        match self.place {
            Place::Loading(uuid) => self.load(uuid, out),
            Place::Failed(..) => self.back_off(out),
            Place::NewChat | Place::Open(_) | Place::Missing | Place::Deleted => {}
        }
    }

    fn act(&mut self, action: Action, out: &mut Vec<Effect>) {
        match action {
            Action::Write(text) => {
                self.draft = text;
                self.send_after_uploads = None;
            }
            Action::Add(text) => self.draft = joined(&self.draft, &text),
            Action::Attach(of, files) => self.attach(of, files, out),
            Action::RemoveFile(of, key) => self.remove_file(of, &key, out),
            Action::RetryUpload(key) => self.retry_upload(&key, out),
            Action::ChooseNext(model) => self.next_model = model,
            Action::PlanFirst(plans_first) => self.plans_first = plans_first,
            Action::SendDraft(id) => self.send_draft(id, out),
            Action::Send(content, id) => {
                self.post(&content, Vec::new(), None, id, out);
            }
            Action::Edit(edited, content, id) => self.send_edit(edited, &content, id, out),
            Action::BeginEdit(edited) => self.begin_edit(edited, out),
            Action::EditLast => self.pending_action = Some(PendingAction::EditLast),
            Action::WriteEdit(text) => self.write_edit(text),
            Action::Regenerate(id) => self.regenerate(id, None, out),
            Action::RegenerateBy(id, model) => self.regenerate(id, Some(model), out),
            Action::Step(id, siblings, step) => self.step(id, &siblings, step, out),
            Action::RefuseFiles => self.notice = Some(self.text.may_not_upload().to_owned()),
            Action::Continue(model) => self.continue_turn(model, out),
            Action::Decide(decisions) => self.decide(decisions, out),
            Action::Unqueue(id) => self.unqueue(&id),
            Action::EditQueued(id) => self.edit_queued(id),
            Action::WriteQueued(text) => self.write_queued(text),
            Action::ChangeQueued(text, id) => self.change_queued(&text, id),
            Action::SendNow => self.send_now(out),
            Action::Stop => self.stop(out),
            Action::LoadEarlier => {
                self.pending_action.get_or_insert(PendingAction::LoadEarlier);
            }
            Action::GoTo(goal) => self.go_to(goal),
            Action::LoadCall(id) => self.load_call(id, out),
            Action::Retry => self.retry(out),
        }
    }

    /// Performs the action that needs the messages. While the conversation is loading, it waits.
    fn act_once_loaded(&mut self, out: &mut Vec<Effect>) {
        if !matches!(self.place, Place::Loading(_))
            && let Some(action) = self.pending_action.take()
        {
            match action {
                PendingAction::EditLast => self.edit_last(),
                PendingAction::LoadEarlier => self.load_earlier(out),
            }
        }
    }

    /// Handles the response to the current request.
    fn on_response(&mut self, response: Response, out: &mut Vec<Effect>) {
        match (response, self.connection.clone()) {
            (Response::Created(created), Connection::Creating(message)) => self.on_created(created, message, out),
            (Response::Started(started), Connection::Starting(starting)) => self.on_started(started, starting, out),
            (Response::Joined(joined), Connection::Joining) => self.on_joined(joined, out),
            (Response::Loaded(loaded), Connection::Refetching(refetch)) => self.on_loaded(loaded, refetch, out),
            (Response::Selected(selected), Connection::Selecting { wanted, step }) => {
                self.on_selected(selected, wanted, step, out);
            }
            (Response::Events(events), Connection::Streaming) => self.on_events(events, out),
            (Response::Crowded, Connection::Joining | Connection::Streaming) => {
                self.wait_for(Event::Crowd, Request::CrowdedPause, out);
            }
            (Response::Interrupted, Connection::Streaming) => self.back_off(out),
            (Response::Tick, Connection::Backoff(left)) => self.on_tick(left, out),
            (Response::DecisionsStored, Connection::Starting(Starting::Decide))
            | (Response::Tick, Connection::Crowded) => self.follow(out),
            (Response::Tick, Connection::Hidden) => {
                self.refetch(Refetch { why: RefetchReason::Poll, scope: Scope::Newest }, out);
            }
            // The response does not match the request.
            _ => {}
        }
    }
}
