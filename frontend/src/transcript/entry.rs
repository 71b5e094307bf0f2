//! A message of a transcript: its text, and the items in it.

use std::sync::Arc;

use tallybook_protocol::{
    AnswerMode, ContextTruncation, Feedback, Message, MessageFile, MessageId, MessageStatus, ModelRetry, Plan,
    PlanStep, PlanStepId, Role, ToolCallId, ToolCallPreparing, Usage,
};

use super::{Call, Item, Segment, StepState, item::StoredItems, layout::Layout, segments::segments};

/// Epoch of the first run of a turn.
const FIRST_EPOCH: i32 = 1;

/// The activity of a model that is not writing text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Activity {
    /// It is writing a tool call.
    WritingCall(ToolCallPreparing),
    /// A model call failed and is retried.
    Retrying(ModelRetry),
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Row ID.
    pub id: MessageId,
    /// The author's role.
    pub role: Role,
    /// The text so far.
    pub text: String,
    /// The files that the user attached.
    pub files: Vec<MessageFile>,
    /// The items in the text, in the order in which they happened.
    pub items: Vec<Item>,
    /// The plan of the answer, if it has one.
    pub plan: Option<Arc<Plan>>,
    /// The mode of the answer; `react` until it is known.
    pub(super) mode: AnswerMode,
    /// The status of the message.
    pub status: MessageStatus,
    /// The server's error message for the user.
    pub error: Option<String>,
    /// The stable error code.
    pub error_code: Option<String>,
    /// The reason why the model stopped, as the server names it.
    pub stop_reason: Option<String>,
    /// Row IDs of all versions, oldest first; empty if there is only one.
    pub siblings: Vec<MessageId>,
    /// The usage of the answer; `None` while it is being written, and if the provider reports none.
    pub usage: Option<Usage>,
    /// When the message was sent or completed, in milliseconds since 1970; `None` if it was received as a stream.
    pub at_ms: Option<i64>,
    /// The provider and the name of the model that wrote the message, if known.
    pub author: Option<(String, String)>,
    /// The part of the conversation that the model received, if it did not receive all of it.
    pub context: Option<ContextTruncation>,
    /// The user's feedback on the answer.
    pub feedback: Option<Feedback>,
    /// The last reported activity of the model while it writes no text.
    pub activity: Option<Activity>,
    /// The epoch of the turn's last known run. It grows when the turn is resumed.
    pub(super) epoch: i32,
}

impl Entry {
    pub(super) fn assistant(id: MessageId) -> Self {
        Self {
            id,
            role: Role::Assistant,
            text: String::new(),
            files: Vec::new(),
            items: Vec::new(),
            plan: None,
            mode: AnswerMode::React,
            status: MessageStatus::Streaming,
            error: None,
            error_code: None,
            stop_reason: None,
            siblings: Vec::new(),
            usage: None,
            at_ms: None,
            author: None,
            context: None,
            feedback: None,
            activity: None,
            epoch: FIRST_EPOCH,
        }
    }

    pub(super) fn user(id: MessageId, text: String) -> Self {
        Self { role: Role::User, text, status: MessageStatus::Complete, ..Self::assistant(id) }
    }

    /// Creates an entry from a stored message. Keeps the full texts of items in `held`.
    pub(crate) fn stored(message: Message, held: &[Item]) -> Self {
        let is_over = message.status != MessageStatus::Streaming;
        let stored =
            StoredItems { message: message.id, calls: message.tool_calls, reasoning: message.reasoning, is_over };
        Self {
            id: message.id,
            role: message.role,
            text: message.content,
            files: message.files,
            items: stored.items(held),
            plan: message.plan.map(Arc::new),
            mode: message.mode,
            status: message.status,
            error: message.error,
            error_code: message.error_code,
            stop_reason: message.stop_reason,
            siblings: message.siblings,
            usage: message.usage,
            at_ms: Some(message.completed_at.unwrap_or(message.created_at).timestamp_millis()),
            author: message.provider.zip(message.model),
            context: message.context,
            feedback: message.feedback,
            activity: None,
            epoch: message.epoch,
        }
    }

    fn layout(&self) -> Layout<'_> {
        Layout::of(&self.text, &self.items, self.plan.as_deref())
    }

    /// Returns the text and items as segments, in order. Those of the plan's steps are in the plan.
    pub fn segments(&self) -> Vec<Segment> {
        let Layout { before, after, .. } = self.layout();
        let mut pieces = segments(&self.text, &before);
        pieces.extend(self.plan.as_ref().map(|_| Segment::Plan));
        pieces.extend(segments(&self.text, &after));
        pieces
    }

    /// Returns the segments of a step of the plan.
    pub fn segments_of(&self, step: PlanStepId) -> Vec<Segment> {
        let found = self.layout().steps.into_iter().find(|(id, _)| *id == step);
        found.map(|(_, share)| segments(&self.text, &share)).unwrap_or_default()
    }

    /// Returns all segments, including those of the plan's steps.
    pub fn all_segments(&self) -> Vec<Segment> {
        self.layout().shares().flat_map(|share| segments(&self.text, &share)).collect()
    }

    /// Returns the running step of the plan.
    pub fn step_at_work(&self) -> Option<&PlanStep> {
        self.plan.as_ref()?.steps.iter().find(|step| StepState::of(step, self.status) == StepState::Working)
    }

    /// Returns the offset of the text that may still grow: that of the whole answer, of the plan's last step, or of the
    /// text after the plan.
    pub fn grows_from(&self) -> usize {
        let Layout { before, steps, after } = self.layout();
        match (self.step_at_work(), steps.last(), &self.plan) {
            (Some(_), Some((_, share)), _) => share.text.start,
            (_, _, Some(_)) => after.text.start,
            (_, _, None) => before.text.start,
        }
    }

    /// Returns the text after the plan's steps, or all text if none follows them.
    pub fn answer(&self) -> &str {
        let answer = self.text.get(self.layout().after.text).map(str::trim_start).unwrap_or_default();
        if answer.is_empty() { &self.text } else { answer }
    }

    /// Returns the tool calls.
    pub fn calls(&self) -> impl Iterator<Item = &Arc<Call>> {
        self.items.iter().filter_map(Item::as_call)
    }

    /// Returns the files of the message: those that the user attached, or the images that tools returned.
    pub(crate) fn all_files(&self) -> Vec<MessageFile> {
        self.files.iter().chain(self.calls().flat_map(|call| &call.files)).cloned().collect()
    }

    /// Returns a tool call.
    pub fn call(&self, id: ToolCallId) -> Option<&Arc<Call>> {
        self.calls().find(|call| call.id == id)
    }

    pub(super) fn calls_mut(&mut self) -> impl Iterator<Item = &mut Arc<Call>> {
        self.items.iter_mut().filter_map(Item::as_call_mut)
    }

    /// Returns the calls that wait for approval, in order.
    pub(crate) fn waiting_calls(&self) -> Vec<ToolCallId> {
        self.calls().filter(|call| call.awaits_decision()).map(|call| call.id).collect()
    }

    /// Returns `true` while calls of this answer can still be decided on.
    pub(crate) fn asks_for_decisions(&self) -> bool {
        matches!(self.status, MessageStatus::AwaitingApproval | MessageStatus::Streaming)
    }

    /// Returns `true` if the turn ended before the answer was complete, so that it can be continued.
    pub fn is_cut_off(&self) -> bool {
        self.status.is_cut_off()
    }

    /// Returns `true` if the stop reason says that the answer is not complete. An unknown stop reason counts as such.
    pub fn is_cut_short(&self) -> bool {
        let is_whole = |word| matches!(word, "" | "end_turn" | "tool_use" | "refusal" | "pause_turn" | "client_calls");
        self.stop_reason.as_deref().is_some_and(|word| !is_whole(word))
    }

    /// Returns `true` if the answer was requested with a plan, but was written without one.
    pub fn lacks_plan(&self) -> bool {
        let has_begun = !self.text.is_empty() || self.calls().next().is_some();
        self.mode == AnswerMode::Plan && self.plan.is_none() && has_begun
    }

    /// Returns `true` if only the text differs from another state of the same message.
    pub(crate) fn differs_only_in_text(&self, other: &Self) -> bool {
        let Self { id, role, text: _, files, items, plan, mode, status, error, error_code, stop_reason, .. } = self;
        let Self { siblings, usage, at_ms, author, context, feedback, activity, epoch, .. } = self;
        // Fields that change rarely are compared last. Items are shared, so equal ones usually have the same address.
        (status, activity, items, plan) == (&other.status, &other.activity, &other.items, &other.plan)
            && (id, role, mode, epoch, files) == (&other.id, &other.role, &other.mode, &other.epoch, &other.files)
            && (error, error_code, stop_reason) == (&other.error, &other.error_code, &other.stop_reason)
            && (siblings, usage, at_ms, author) == (&other.siblings, &other.usage, &other.at_ms, &other.author)
            && (context, feedback) == (&other.context, &other.feedback)
    }

    /// Returns `true` while the turn writes this message.
    pub fn is_streaming(&self) -> bool {
        self.status == MessageStatus::Streaming
    }
}
