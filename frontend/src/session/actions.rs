//! What a reader does, as the components call it.

use tallybook_protocol::{CallDecision, MessageId, ToolCallId};

use super::{
    input::Action,
    shell::Session,
    shown::{Edited, Step},
};
use crate::{browser, goal::Goal};

impl Session {
    /// Takes what is in the message field now.
    pub(crate) fn write(self, text: String) {
        self.act(Action::Write(text));
    }

    /// Adds a line to what is in the message field.
    pub(crate) fn add_to_draft(self, text: &str) {
        self.act(Action::Add(text.to_owned()));
    }

    /// Says what could not be done.
    pub(crate) fn say(self, words: String) {
        self.act(Action::Say(words));
    }

    /// Chooses a model for the next message alone, or none.
    pub(crate) fn choose_next(self, model: Option<String>) {
        self.act(Action::ChooseNext(model));
    }

    /// Has the next message answered by a plan, or not.
    pub(crate) fn plan_first(self, plans_first: bool) {
        self.act(Action::PlanFirst(plans_first));
    }

    /// Sends what is in the message field, or has it wait for the end of the answer. It stays there when neither can be.
    pub(crate) fn send_draft(self) {
        self.act(Action::SendDraft(browser::random_id()));
    }

    /// Sends `content` as a message. Does nothing while a turn runs, or when there is no text in it.
    pub(crate) fn send(self, content: &str) {
        self.act(Action::Send(content.to_owned(), browser::random_id()));
    }

    /// Sends `content` as another version of a message. Does nothing while a turn runs, or when there is no text in it.
    pub(crate) fn edit(self, id: MessageId, content: String) {
        self.act(Action::Edit(id, content, browser::random_id()));
    }

    /// Begins to change a message in its place, or leaves it as it is.
    pub(crate) fn begin_edit(self, edited: Option<Edited>) {
        self.act(Action::BeginEdit(edited));
    }

    /// Takes what is in the field of the message that is being changed.
    pub(crate) fn write_edit(self, text: String) {
        self.act(Action::WriteEdit(text));
    }

    /// Has an answer written anew.
    pub(crate) fn regenerate(self, id: MessageId) {
        self.act(Action::Regenerate(id));
    }

    /// The same by another model.
    pub(crate) fn regenerate_by(self, id: MessageId, model: String) {
        self.act(Action::RegenerateBy(id, model));
    }

    /// Has the last answer go on that was cut off.
    pub(crate) fn continue_turn(self) {
        self.act(Action::Continue);
    }

    /// Decides on calls that wait.
    pub(crate) fn decide(self, decisions: Vec<CallDecision>) {
        self.act(Action::Decide(decisions));
    }

    /// Shows the version that comes before or after the message `id` among `siblings`.
    pub(crate) fn step(self, id: MessageId, siblings: &[MessageId], step: Step) {
        self.act(Action::Step(id, siblings.to_vec(), step));
    }

    /// Takes out a message that waits for the end of the answer.
    pub(crate) fn unqueue(self, id: String) {
        self.act(Action::Unqueue(id));
    }

    /// Begins to change a message that waits, or leaves it as it is.
    pub(crate) fn edit_queued(self, id: Option<String>) {
        self.act(Action::EditQueued(id));
    }

    /// Takes what is in the field of the message that waits and is being changed.
    pub(crate) fn write_queued(self, text: String) {
        self.act(Action::WriteQueued(text));
    }

    /// Changes the message that waits and was being changed.
    pub(crate) fn change_queued(self, text: String) {
        self.act(Action::ChangeQueued(text, browser::random_id()));
    }

    /// Sends what waits, whatever became of the last answer.
    pub(crate) fn send_now(self) {
        self.act(Action::SendNow);
    }

    /// Asks the server to stop the running turn, as soon as there is one.
    pub(crate) fn stop(self) {
        self.act(Action::Stop);
    }

    /// Loads messages that come before the first one here.
    pub(crate) fn load_earlier(self) {
        self.act(Action::LoadEarlier);
    }

    /// Goes to a message, loading what it takes. Nothing when it is in another conversation.
    pub(crate) fn go_to(self, goal: Goal) {
        self.act(Action::GoTo(goal));
    }

    /// Loads the texts of a call whole.
    pub(crate) fn load_call(self, id: ToolCallId) {
        self.act(Action::LoadCall(id));
    }

    /// Waits no longer for the next attempt to reach the server.
    pub(crate) fn retry(self) {
        self.act(Action::Retry);
    }
}
