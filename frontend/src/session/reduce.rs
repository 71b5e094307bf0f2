//! All that a session decides: what happens changes what is known, and may have something done.

mod branches;
mod calls;
mod deciding;
mod earlier;
mod editing;
mod elsewhere;
mod going;
mod gone;
mod news;
mod opening;
mod queueing;
mod reading;
mod sending;
mod stopping;
mod waiting;

use super::{
    effect::{Effect, Request},
    input::{Action, Answer, Input},
    reader::{Asked, Reader},
    shown::Place,
    state::{State, joined},
};
use waiting::{LOUD, PEEK};

/// Takes what happened, and returns what is to be done.
pub(crate) fn reduce(state: &mut State, input: Input) -> Vec<Effect> {
    let mut effects = Vec::new();
    let out = &mut effects;
    match input {
        Input::Alive => state.begin(out),
        Input::Reader(action) => state.act(action, out),
        // Of what is no longer waited for nothing is of interest.
        Input::Answer(ticket, answer) if ticket == state.reader_ticket => state.take_answer(answer, out),
        Input::Answer(..) => {}
        Input::Stopped(ticket, outcome) => state.stopped(ticket, outcome, out),
        Input::Earlier(ticket, first, page) => state.earlier_found(ticket, first, *page, out),
        Input::Drawn(ticket) => state.earlier_drawn(ticket, out),
        Input::Call(id, call) => state.call_found(id, *call, out),
        Input::News(news) => state.hear(&news, out),
        Input::Leaving(is_leaving) => state.is_leaving = is_leaving,
        Input::Adopted(draft) => state.adopt(&draft),
        Input::Elsewhere(change) => state.change_elsewhere(change),
        Input::Hidden(is_hidden) => state.attend(is_hidden, out),
        Input::Online => state.come_online(out),
    }
    state.rescue_edit();
    state.hide(out);
    state.pursue(out);
    state.send_next(out);
    effects
}

impl State {
    fn begin(&mut self, out: &mut Vec<Effect>) {
        match self.place {
            Place::Loading(uuid) => self.load(uuid, out),
            Place::Failed(..) => self.pause(out),
            Place::NewChat | Place::Open(_) | Place::Missing | Place::Deleted => {}
        }
    }

    fn act(&mut self, action: Action, out: &mut Vec<Effect>) {
        match action {
            Action::Write(text) => self.draft = text,
            Action::Add(text) => self.draft = joined(&self.draft, &text),
            Action::Say(words) => self.notice = Some(words),
            Action::ChooseNext(model) => self.next_model = model,
            Action::PlanFirst(plans_first) => self.plans_first = plans_first,
            Action::SendDraft(id) => self.send_draft(id, out),
            Action::Send(content, id) => {
                self.post(&content, None, id, out);
            }
            Action::Edit(edited, content, id) => {
                self.post(&content, Some(edited), id, out);
            }
            Action::BeginEdit(edited) => self.edited = edited,
            Action::WriteEdit(text) => self.write_edit(text),
            Action::Regenerate(id) => self.regenerate(id, None, out),
            Action::RegenerateBy(id, model) => self.regenerate(id, Some(model), out),
            Action::Step(id, siblings, step) => self.step(id, &siblings, step, out),
            Action::Continue => self.continue_turn(out),
            Action::Decide(decisions) => self.decide(decisions, out),
            Action::Unqueue(id) => self.unqueue(&id),
            Action::EditQueued(id) => self.edit_queued(id),
            Action::WriteQueued(text) => self.write_queued(text),
            Action::ChangeQueued(text, id) => self.change_queued(&text, id),
            Action::SendNow => self.send_now(out),
            Action::Stop => self.stop(out),
            Action::LoadEarlier => self.load_earlier(out),
            Action::GoTo(goal) => self.go_to(goal),
            Action::LoadCall(id) => self.load_call(id, out),
            Action::Retry => self.retry(out),
        }
    }

    fn take_answer(&mut self, answer: Answer, out: &mut Vec<Effect>) {
        match (answer, std::mem::replace(&mut self.reader, Reader::Resting)) {
            (Answer::Made(made), Reader::Making(message)) => self.made(made, message, out),
            (Answer::Opened(opened), Reader::Asking(asked)) => self.opened(opened, asked, out),
            (Answer::Noted, Reader::Asking(Asked::Decide)) => self.noted(out),
            (Answer::Joined(joined), Reader::Joining) => self.joined(joined, out),
            (Answer::Found(found), Reader::Looking(look)) => self.found(found, look, out),
            (Answer::Selected(selected), Reader::Selecting { wanted, step }) => {
                self.selected(selected, wanted, step, out);
            }
            (Answer::Events(events), Reader::Streaming) => {
                self.reader = Reader::Streaming;
                self.take_events(events, out);
            }
            (Answer::Crowded, Reader::Joining | Reader::Streaming) => {
                self.read(Reader::Crowded, Request::CrowdedPause, out);
            }
            (Answer::Broke, Reader::Streaming) => self.pause(out),
            (Answer::Second, Reader::Pausing(left)) => self.second_passed(left, out),
            (Answer::Second, Reader::Crowded) => self.look(LOUD, out),
            (Answer::Second, Reader::Hidden) => self.look(PEEK, out),
            // An answer of another kind than was asked for.
            (_, reader) => self.reader = reader,
        }
    }
}
