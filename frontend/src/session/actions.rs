//! The user's actions, as methods that the components call.

use tallybook_protocol::{CallDecision, Feedback, MessageId, ToolCallId};

use super::{
    files::FilesOf,
    input::{Action, Input},
    shell::Session,
    shown::{Edited, Step},
};
use crate::{api::ApiError, browser, goal::Goal};

impl Session {
    /// Sets the text of the message field.
    pub(crate) fn write(self, text: String) {
        self.act(Action::Write(text));
    }

    /// Adds a line to the text of the message field.
    pub(crate) fn add_to_draft(self, text: &str) {
        self.act(Action::Add(text.to_owned()));
    }

    /// Removes a file from a message.
    pub(crate) fn remove_file(self, of: FilesOf, key: String) {
        self.act(Action::RemoveFile(of, key));
    }

    /// Uploads a file again.
    pub(crate) fn retry_upload(self, key: String) {
        self.act(Action::RetryUpload(key));
    }

    /// Chooses a model for the next message only; `None` for the conversation's model.
    pub(crate) fn choose_next(self, model: Option<String>) {
        self.act(Action::ChooseNext(model));
    }

    /// Turns planning on or off for the next message's answer.
    pub(crate) fn plan_first(self, plans_first: bool) {
        self.act(Action::PlanFirst(plans_first));
    }

    /// Sends the text of the message field, or queues it while an answer is being written. If neither is possible, the
    /// text stays in the field.
    pub(crate) fn send_draft(self) {
        self.act(Action::SendDraft(browser::random_id()));
    }

    /// Sends `content` as a message. Does nothing while a turn runs or if `content` is blank.
    pub(crate) fn send(self, content: &str) {
        self.act(Action::Send(content.to_owned(), browser::random_id()));
    }

    /// Sends `content` as another version of a message. Does nothing while a turn runs or if `content` is blank.
    pub(crate) fn edit(self, id: MessageId, content: String) {
        self.act(Action::Edit(id, content, browser::random_id()));
    }

    /// Says that the user may not upload files.
    pub(crate) fn refuse_files(self) {
        self.act(Action::RefuseFiles);
    }

    /// Starts editing a message in place; `None` cancels the edit.
    pub(crate) fn begin_edit(self, edited: Option<Edited>) {
        self.act(Action::BeginEdit(edited));
    }

    /// Starts editing the user's last message, if the message field is empty and nothing else is being edited. Does
    /// nothing while a turn runs.
    pub(crate) fn edit_last(self) {
        self.act(Action::EditLast);
    }

    /// Sets the text of the message that is being edited.
    pub(crate) fn write_edit(self, text: String) {
        self.act(Action::WriteEdit(text));
    }

    /// Regenerates an answer.
    pub(crate) fn regenerate(self, id: MessageId) {
        self.act(Action::Regenerate(id));
    }

    /// Regenerates an answer with another model.
    pub(crate) fn regenerate_by(self, id: MessageId, model: String) {
        self.act(Action::RegenerateBy(id, model));
    }

    /// Resumes the last answer, which ended early, with the model that the user has chosen on this page, or with the
    /// answer's own.
    pub(crate) fn continue_turn(self) {
        let conversation = leptos::prelude::untrack(|| self.conversation());
        self.act(Action::Continue(self.models.chosen_here(conversation)));
    }

    /// Sends decisions on calls that wait for approval.
    pub(crate) fn decide(self, decisions: Vec<CallDecision>) {
        self.act(Action::Decide(decisions));
    }

    /// Shows the version before or after the message `id` among `siblings`.
    pub(crate) fn step(self, id: MessageId, siblings: &[MessageId], step: Step) {
        self.act(Action::Step(id, siblings.to_vec(), step));
    }

    /// Removes a queued message.
    pub(crate) fn unqueue(self, id: String) {
        self.act(Action::Unqueue(id));
    }

    /// Starts editing a queued message; `None` cancels the edit.
    pub(crate) fn edit_queued(self, id: Option<String>) {
        self.act(Action::EditQueued(id));
    }

    /// Sets the text of the queued message that is being edited.
    pub(crate) fn write_queued(self, text: String) {
        self.act(Action::WriteQueued(text));
    }

    /// Replaces the text of the queued message that is being edited.
    pub(crate) fn change_queued(self, text: String) {
        self.act(Action::ChangeQueued(text, browser::random_id()));
    }

    /// Sends the queued messages, no matter how the last answer ended.
    pub(crate) fn send_now(self) {
        self.act(Action::SendNow);
    }

    /// Asks the server to stop the running turn, or the next one as soon as it runs.
    pub(crate) fn stop(self) {
        self.act(Action::Stop);
    }

    /// Loads messages that come before the first loaded one.
    pub(crate) fn load_earlier(self) {
        self.act(Action::LoadEarlier);
    }

    /// Goes to a message and loads what that requires. Does nothing if the message is in another conversation.
    pub(crate) fn go_to(self, goal: Goal) {
        self.act(Action::GoTo(goal));
    }

    /// Loads the full texts of a call.
    pub(crate) fn load_call(self, id: ToolCallId) {
        self.act(Action::LoadCall(id));
    }

    /// Shows the user's feedback on an answer. `error` is the reason why another one could not be stored.
    pub(crate) fn show_feedback(self, id: MessageId, feedback: Option<Feedback>, error: Option<ApiError>) {
        self.feed(Input::Rated(id, feedback, error));
    }

    /// Shows the error of a request that changes nothing in the conversation.
    pub(crate) fn show_failure(self, error: ApiError) {
        self.feed(Input::Failed(error));
    }

    /// Retries the connection now instead of waiting for the next attempt.
    pub(crate) fn retry(self) {
        self.act(Action::Retry);
    }
}
