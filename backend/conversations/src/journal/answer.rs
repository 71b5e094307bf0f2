//! The assistant's message so far, for snapshots and for the turn's end event: its text, its plan, and the items
//! anchored in the text (tool calls and reasoning). Events change it. Texts of items are truncated to the limit of one
//! event. The texts of the steps are joined with an empty line between them.

use chrono::{DateTime, Utc};
use tallybook_protocol::{
    ApprovalDecided, ApprovalRequested, CallsBudget, ChatEvent, MessageStatus, Plan, Reasoning, Snapshot, ToolCall,
    ToolCallEnd, ToolCallId, ToolCallReview, ToolCallStart, ToolCallStatus,
};

use crate::journal::entry::EventId;

/// The message so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct AnswerState {
    pub(crate) content: String,
    /// Provider of the model that writes the message, and the model's catalog name.
    author: Option<(String, String)>,
    /// In the order in which they began.
    items: Vec<Item>,
    /// The answer's plan, in plan mode.
    plan: Option<Plan>,
    /// Remaining budget for the texts of tool calls, in bytes. Texts that exceed this budget are truncated.
    held: CallsBudget,
}

impl AnswerState {
    /// Creates the state from a message's stored rows.
    pub(crate) fn of(PartialAnswer { content, reasoning, plan }: PartialAnswer, calls: Vec<ToolCall>) -> Self {
        let items = calls.into_iter().map(Item::Call).chain(reasoning.into_iter().map(Item::Reasoning)).collect();
        Self { content, items, plan, ..Self::default() }
    }

    /// Returns the tool calls so far.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        Item::calls(&self.items)
    }

    /// Returns the text, reasoning and plan so far.
    pub(crate) fn partial(&self) -> PartialAnswer {
        let reasoning = Item::reasoning(&self.items).cloned().collect();
        PartialAnswer { content: self.content.clone(), reasoning, plan: self.plan.clone() }
    }

    /// Returns a snapshot of the message as of the event `id`.
    pub(crate) fn into_snapshot(self, id: EventId) -> Snapshot {
        let (provider, model) = self.author.unzip();
        let (tool_calls, reasoning) = Item::into_kinds(self.items);
        Snapshot {
            assistant_message_id: id.message_id,
            epoch: id.epoch,
            content: self.content,
            tool_calls,
            reasoning,
            plan: self.plan,
            status: MessageStatus::Streaming,
            provider,
            model,
        }
    }

    /// Applies an event of the time `at`.
    pub(crate) fn apply(&mut self, event: &ChatEvent, at: DateTime<Utc>) {
        match event {
            ChatEvent::ContentDelta(delta) => self.content.push_str(&delta.delta),
            ChatEvent::MessageStart(start) => self.author = start.provider.clone().zip(start.model.clone()),
            ChatEvent::Snapshot(snapshot) => {
                self.content.clone_from(&snapshot.content);
                self.author = snapshot.provider.clone().zip(snapshot.model.clone());
                self.plan.clone_from(&snapshot.plan);
                self.items.clear();
                self.held = CallsBudget::default();
                Item::from_snapshot(snapshot).for_each(|item| self.add(item));
            }
            ChatEvent::Plan(plan) => self.plan = Some(plan.clone()),
            ChatEvent::PlanStep(changed) => {
                if let Some(plan) = &mut self.plan {
                    plan.apply(changed);
                }
            }
            event => {
                let Self { items, held, .. } = self;
                let is_known = items.iter_mut().rev().any(|item| item.apply(event, at, held));
                if let Some(item) = Item::started_by(event, at).filter(|_| !is_known) {
                    self.add(item);
                }
            }
        }
    }

    fn add(&mut self, mut item: Item) {
        item.fit(&mut self.held);
        self.items.push(item);
    }
}

/// Something anchored at a position in an answer's text.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "most items are calls, and a box would cost each of them an allocation")]
pub(crate) enum Item {
    /// A tool call. Its texts are truncated to what one event may carry.
    Call(ToolCall),
    /// The model's reasoning in one step.
    Reasoning(Reasoning),
}

impl Item {
    /// Returns the items in a snapshot.
    pub(crate) fn from_snapshot(snapshot: &Snapshot) -> impl Iterator<Item = Self> {
        let calls = snapshot.tool_calls.iter().cloned().map(Self::Call);
        calls.chain(snapshot.reasoning.iter().cloned().map(Self::Reasoning))
    }

    /// Returns the item that an event of the time `at` starts, or `None` if the event starts no item.
    pub(crate) fn started_by(event: &ChatEvent, at: DateTime<Utc>) -> Option<Self> {
        match event {
            ChatEvent::ToolCallStart(start) => Some(Self::Call(started_call(start, at))),
            ChatEvent::ApprovalRequested(asked) => Some(Self::Call(waiting_call(asked.clone(), at))),
            ChatEvent::ReasoningDelta(delta) => Some(Self::Reasoning(Reasoning::started_by(delta))),
            _ => None,
        }
    }

    /// Applies an event of the time `at`. Returns `false` if the event does not belong to this item.
    pub(crate) fn apply(&mut self, event: &ChatEvent, at: DateTime<Utc>, held: &mut CallsBudget) -> bool {
        let call = match (self, event) {
            (Self::Call(call), _) => call,
            (Self::Reasoning(reasoning), ChatEvent::ReasoningDelta(delta))
                if reasoning.reasoning_id == delta.reasoning_id =>
            {
                reasoning.apply(delta);
                return true;
            }
            (Self::Reasoning(_), _) => return false,
        };
        if call_of(event) != Some(call.tool_call_id) {
            return false;
        }
        match event {
            ChatEvent::ToolCallStart(_) => {
                // The call was waiting for approval.
                call.status = ToolCallStatus::Pending;
                call.started_at = at;
            }
            ChatEvent::ApprovalRequested(asked) => {
                // Approval is requested again.
                call.status = ToolCallStatus::AwaitingApproval;
                call.reviews.clone_from(&asked.reviews);
                call.decision = None;
            }
            ChatEvent::ApprovalDecided(decided) => decide(call, decided, at),
            ChatEvent::ToolCallReview(review) => review_call(call, review),
            ChatEvent::ToolCallEnd(end) => end_call(call, end, held),
            _ => {}
        }
        true
    }

    /// Counts a call's texts toward the budget and truncates what exceeds it. Reasoning is limited before it is sent.
    pub(crate) fn fit(&mut self, held: &mut CallsBudget) {
        if let Self::Call(call) = self {
            held.fit(call);
        }
    }

    /// Returns the items that are tool calls.
    pub(crate) fn calls(items: &[Self]) -> impl Iterator<Item = &ToolCall> {
        items.iter().filter_map(|item| match item {
            Self::Call(call) => Some(call),
            Self::Reasoning(_) => None,
        })
    }

    /// Returns the items that are reasoning.
    pub(crate) fn reasoning(items: &[Self]) -> impl Iterator<Item = &Reasoning> {
        items.iter().filter_map(|item| match item {
            Self::Reasoning(reasoning) => Some(reasoning),
            Self::Call(_) => None,
        })
    }

    /// Splits the items into tool calls and reasoning.
    fn into_kinds(items: Vec<Self>) -> (Vec<ToolCall>, Vec<Reasoning>) {
        let (mut calls, mut reasoning) = (Vec::new(), Vec::new());
        for item in items {
            match item {
                Self::Call(call) => calls.push(call),
                Self::Reasoning(part) => reasoning.push(part),
            }
        }
        (calls, reasoning)
    }
}

/// Returns the ID of the tool call that an event concerns, or `None` if the event concerns no call or is not stored.
fn call_of(event: &ChatEvent) -> Option<ToolCallId> {
    match event {
        ChatEvent::ToolCallStart(start) => Some(start.tool_call_id),
        ChatEvent::ToolCallEnd(end) => Some(end.tool_call_id),
        ChatEvent::ApprovalRequested(asked) => Some(asked.tool_call_id),
        ChatEvent::ApprovalDecided(decided) => Some(decided.tool_call_id),
        ChatEvent::ToolCallReview(review) => Some(review.tool_call_id),
        _ => None,
    }
}

fn decide(call: &mut ToolCall, decided: &ApprovalDecided, at: DateTime<Utc>) {
    call.decision = Some(decided.to_decision(at));
    if let Some(input) = &decided.input {
        let proposed = std::mem::replace(&mut call.input, input.clone());
        call.proposed_input.get_or_insert(proposed);
    }
}

/// Adds or replaces a vote. It may be there already, because `approval_requested` carries all votes.
fn review_call(call: &mut ToolCall, review: &ToolCallReview) {
    match call.reviews.iter_mut().find(|held| held.model == review.model) {
        Some(held) => held.clone_from(review),
        None => call.reviews.push(review.clone()),
    }
}

fn end_call(call: &mut ToolCall, end: &ToolCallEnd, held: &mut CallsBudget) {
    call.status = end.status;
    call.output.clone_from(&end.output);
    call.output_bytes = end.output_bytes;
    call.error.clone_from(&end.error);
    call.error_type.clone_from(&end.error_type);
    call.files.clone_from(&end.files);
    call.truncated |= end.truncated;
    // A denied call never ran.
    call.duration_ms = Some(end.duration_ms).filter(|_| end.status != ToolCallStatus::Denied);
    held.fit_result(call);
}

fn started_call(start: &ToolCallStart, at: DateTime<Utc>) -> ToolCall {
    ToolCall {
        tool_call_id: start.tool_call_id,
        tool_name: start.tool_name.clone(),
        input: start.input.clone(),
        input_bytes: start.input_bytes,
        proposed_input: None,
        offset: start.offset,
        status: ToolCallStatus::Pending,
        output: None,
        output_bytes: None,
        error: None,
        error_type: None,
        truncated: start.truncated,
        duration_ms: None,
        started_at: at,
        reviews: Vec::new(),
        decision: None,
        files: Vec::new(),
    }
}

fn waiting_call(asked: ApprovalRequested, at: DateTime<Utc>) -> ToolCall {
    let ApprovalRequested { tool_call_id, tool_name, input, input_bytes, truncated, offset, reviews, .. } = asked;
    let start = ToolCallStart { tool_call_id, tool_name, input, input_bytes, truncated, offset };
    ToolCall { status: ToolCallStatus::AwaitingApproval, reviews, ..started_call(&start, at) }
}

/// An answer's text, reasoning and plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartialAnswer {
    /// The answer's text.
    pub content: String,
    /// The model's reasoning, step by step.
    pub reasoning: Vec<Reasoning>,
    /// The answer's plan, in plan mode.
    pub plan: Option<Plan>,
}

/// Separator between the texts of two steps: the end of a line, and an empty line.
const EMPTY_LINE: &str = "\n\n";

/// Returns the separator to write before the text of the next step. `text` is the answer so far.
pub(crate) fn separator(text: &str) -> &'static str {
    let line_feeds = text.bytes().rev().take_while(|byte| *byte == b'\n').count();
    if text.is_empty() { "" } else { &EMPTY_LINE[line_feeds.min(EMPTY_LINE.len())..] }
}

/// Returns the number of bytes that the texts of these steps take in an answer. Answers from before the empty line was
/// introduced contain the texts without separators.
pub(crate) fn bytes_in(answer: &str, steps: &[String]) -> usize {
    let joined = joined(steps);
    if answer.starts_with(&joined) { joined.len() } else { steps.iter().map(String::len).sum() }
}

fn joined(steps: &[String]) -> String {
    let mut answer = String::new();
    for text in steps.iter().filter(|text| !text.is_empty()) {
        answer.push_str(separator(&answer));
        answer.push_str(text);
    }
    answer
}

#[cfg(test)]
mod tests {
    use crate::journal::answer::{bytes_in, joined};

    #[test]
    fn an_empty_line_separates_two_texts() {
        for (steps, answer) in [
            (vec!["Let me see.", "Done."], "Let me see.\n\nDone."),
            (vec!["Let me see.\n", "", "Done."], "Let me see.\n\nDone."),
            (vec!["Let me see.\n\n\n", "Done."], "Let me see.\n\n\nDone."),
            (vec!["", "Done."], "Done."),
        ] {
            let steps: Vec<String> = steps.into_iter().map(str::to_owned).collect();
            assert_eq!(joined(&steps), answer);
            assert_eq!(bytes_in(&format!("{answer}\n\nAnd"), &steps), answer.len());
        }
    }

    #[test]
    fn earlier_texts_are_recognized_as_prefixes() {
        let steps = ["Let me see.".to_owned(), "Done.".to_owned()];
        assert_eq!(bytes_in("Let me see.Done.And", &steps), "Let me see.Done.".len());
    }
}
