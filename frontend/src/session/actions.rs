//! What a reader does, as the components call it.

use tallybook_protocol::{MessageId, ToolCallId};

use super::{
    input::Action,
    shell::Session,
    state::{Edited, Step},
};
use crate::browser;

impl Session {
    /// Takes what is in the message field now.
    pub(crate) fn write(self, text: String) {
        self.act(Action::Write(text));
    }

    /// Sends what is in the message field. It stays there when it cannot be sent now.
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

    /// Has an answer written anew.
    pub(crate) fn regenerate(self, id: MessageId) {
        self.act(Action::Regenerate(id));
    }

    /// Has the last answer go on that was cut off.
    pub(crate) fn continue_turn(self) {
        self.act(Action::Continue);
    }

    /// Shows the version that comes before or after the message `id` among `siblings`.
    pub(crate) fn step(self, id: MessageId, siblings: &[MessageId], step: Step) {
        self.act(Action::Step(id, siblings.to_vec(), step));
    }

    /// Asks the server to stop the running turn, as soon as there is one.
    pub(crate) fn stop(self) {
        self.act(Action::Stop);
    }

    /// Loads messages that come before the first one here.
    pub(crate) fn load_earlier(self) {
        self.act(Action::LoadEarlier);
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
