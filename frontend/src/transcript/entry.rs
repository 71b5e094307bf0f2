//! One message of a transcript: its text, and the items that stand in it.

use std::sync::Arc;

use tallybook_protocol::{
    AnswerMode, ContextTruncation, Message, MessageId, MessageStatus, ModelRetry, Plan, PlanStep, PlanStepId, Role,
    ToolCallId, ToolCallPreparing, Usage,
};

use super::{Call, Item, Segment, StepState, item::StoredItems, layout::Layout, segments::segments};

/// The epoch of a turn that was never cut off.
const FIRST_EPOCH: i32 = 1;

/// What a model is doing while nothing of its answer comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Activity {
    /// It writes a call.
    WritingCall(ToolCallPreparing),
    /// It could not be asked, and is asked again.
    Retrying(ModelRetry),
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Row id.
    pub id: MessageId,
    /// Who wrote it.
    pub role: Role,
    /// Its text so far.
    pub text: String,
    /// What stands in its text, in the order in which it happened.
    pub items: Vec<Item>,
    /// The plan that it is made by, where there is one.
    pub plan: Option<Arc<Plan>>,
    /// Mode of the answer; `react` until it is known.
    pub(super) mode: AnswerMode,
    /// Where it stands.
    pub status: MessageStatus,
    /// What went wrong, in the server's words for the reader.
    pub error: Option<String>,
    /// The stable name of what went wrong.
    pub error_code: Option<String>,
    /// Why the model stopped, in the server's word.
    pub stop_reason: Option<String>,
    /// Row ids of all its versions, oldest first; empty when it is the only one.
    pub siblings: Vec<MessageId>,
    /// What the answer cost; absent while it is written, and when the provider counts nothing.
    pub usage: Option<Usage>,
    /// When it was whole, or sent, in milliseconds since 1970; absent when it was heard as it happened.
    pub at_ms: Option<i64>,
    /// Who provided the model that wrote it, and that model; absent when that is not known.
    pub author: Option<(String, String)>,
    /// What its model was told of the conversation, where that was not all of it.
    pub told: Option<ContextTruncation>,
    /// What the model is doing while nothing of the answer comes, as far as it was told.
    pub activity: Option<Activity>,
    /// The lease under which the turn was last heard of; it grows when the turn goes on after it was cut off.
    pub(super) epoch: i32,
}

impl Entry {
    pub(super) fn assistant(id: MessageId) -> Self {
        Self {
            id,
            role: Role::Assistant,
            text: String::new(),
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
            told: None,
            activity: None,
            epoch: FIRST_EPOCH,
        }
    }

    pub(super) fn user(id: MessageId, text: String) -> Self {
        Self { role: Role::User, text, status: MessageStatus::Complete, ..Self::assistant(id) }
    }

    /// A message as it is stored, with what was `held` of the texts of its items before.
    pub(crate) fn stored(message: Message, held: &[Item]) -> Self {
        let is_over = message.status != MessageStatus::Streaming;
        let stored =
            StoredItems { message: message.id, calls: message.tool_calls, reasoning: message.reasoning, is_over };
        Self {
            id: message.id,
            role: message.role,
            text: message.content,
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
            told: message.told,
            activity: None,
            epoch: message.epoch,
        }
    }

    fn layout(&self) -> Layout<'_> {
        Layout::of(&self.text, &self.items, self.plan.as_deref())
    }

    /// Its text and items, cut into pieces in order; those of all steps are in the plan.
    pub fn segments(&self) -> Vec<Segment> {
        let Layout { before, after, .. } = self.layout();
        let mut pieces = segments(&self.text, &before);
        pieces.extend(self.plan.as_ref().map(|_| Segment::Plan));
        pieces.extend(segments(&self.text, &after));
        pieces
    }

    /// The pieces of a step of its plan.
    pub fn segments_of(&self, step: PlanStepId) -> Vec<Segment> {
        let found = self.layout().steps.into_iter().find(|(id, _)| *id == step);
        found.map(|(_, share)| segments(&self.text, &share)).unwrap_or_default()
    }

    /// Its pieces, wherever they stand.
    pub fn all_segments(&self) -> Vec<Segment> {
        self.layout().shares().flat_map(|share| segments(&self.text, &share)).collect()
    }

    /// The step of its plan that is being worked on.
    pub fn step_at_work(&self) -> Option<&PlanStep> {
        self.plan.as_ref()?.steps.iter().find(|step| StepState::of(step, self.status) == StepState::Working)
    }

    /// Where in its text what may still grow begins: the whole answer, the last step of its plan, or what comes after.
    pub fn grows_from(&self) -> usize {
        let Layout { before, steps, after } = self.layout();
        match (self.step_at_work(), steps.last(), &self.plan) {
            (Some(_), Some((_, share)), _) => share.text.start,
            (_, _, Some(_)) => after.text.start,
            (_, _, None) => before.text.start,
        }
    }

    /// What it says: its text, without what the steps of a plan wrote on the way. All of it where the steps are all there is.
    pub fn answer(&self) -> &str {
        let answer = self.text.get(self.layout().after.text).map(str::trim_start).unwrap_or_default();
        if answer.is_empty() { &self.text } else { answer }
    }

    /// The tool calls among its items.
    pub fn calls(&self) -> impl Iterator<Item = &Arc<Call>> {
        self.items.iter().filter_map(Item::as_call)
    }

    /// One of its tool calls.
    pub fn call(&self, id: ToolCallId) -> Option<&Arc<Call>> {
        self.calls().find(|call| call.id == id)
    }

    pub(super) fn calls_mut(&mut self) -> impl Iterator<Item = &mut Arc<Call>> {
        self.items.iter_mut().filter_map(Item::as_call_mut)
    }

    /// The calls that wait for a decision, in their order.
    pub(crate) fn waiting_calls(&self) -> Vec<ToolCallId> {
        self.calls().filter(|call| call.awaits_decision()).map(|call| call.id).collect()
    }

    /// Whether somebody is asked for decisions on the calls that wait; once the answer is over, nobody is any more.
    pub(crate) fn asks_for_decisions(&self) -> bool {
        matches!(self.status, MessageStatus::AwaitingApproval | MessageStatus::Streaming)
    }

    /// Whether its turn ended before the answer was whole, so that it can go on.
    pub fn is_cut_off(&self) -> bool {
        self.status.is_cut_off()
    }

    /// Returns `true` if its stop reason says that it is not complete. Any word of the provider's own counts as one that does.
    pub fn is_cut_short(&self) -> bool {
        let is_whole = |word| matches!(word, "" | "end_turn" | "tool_use" | "refusal" | "pause_turn" | "client_calls");
        self.stop_reason.as_deref().is_some_and(|word| !is_whole(word))
    }

    /// Returns `true` if it was to be made by a plan, no plan could be made, and it began without one.
    pub fn lacks_plan(&self) -> bool {
        let has_begun = !self.text.is_empty() || self.calls().next().is_some();
        self.mode == AnswerMode::Plan && self.plan.is_none() && has_begun
    }

    /// Returns `true` if nothing but the text differs from another state of the same message.
    pub(crate) fn differs_only_in_text(&self, other: &Self) -> bool {
        let Self { id, role, text: _, items, plan, mode, status, error, error_code, stop_reason, .. } = self;
        let Self { siblings, usage, at_ms, author, told, activity, epoch, .. } = self;
        // What changes least is compared last: items are shared, so that equal ones are usually the same in memory.
        (status, activity, items, plan) == (&other.status, &other.activity, &other.items, &other.plan)
            && (id, role, mode, epoch) == (&other.id, &other.role, &other.mode, &other.epoch)
            && (error, error_code, stop_reason) == (&other.error, &other.error_code, &other.stop_reason)
            && (siblings, usage, at_ms, author, told)
                == (&other.siblings, &other.usage, &other.at_ms, &other.author, &other.told)
    }

    /// Whether the turn still writes this message.
    pub fn is_streaming(&self) -> bool {
        self.status == MessageStatus::Streaming
    }
}
