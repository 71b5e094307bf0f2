//! A planned answer: what is heard of its plan, and which of its text and items stand in which step. What the steps say of
//! their places is not trusted: whatever it is, no text and no item is lost, and none stands twice.

use std::{ops::Range, sync::Arc};

use tallybook_protocol::{MessageStatus, Plan, PlanStep, PlanStepChanged, PlanStepId, PlanStepStatus};

use super::{Entry, Item, Transcript, segments::floor_offset};

/// How it stands with a step, as a reader sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepState {
    /// It waits for those before it.
    Waiting,
    /// It is worked on.
    Working,
    /// One of its calls waits for a decision.
    Awaiting,
    /// The answer ended while it was worked on.
    Stopped,
    /// The answer ended before it was begun.
    Skipped,
    /// It gave what it should.
    Done,
    /// It did not.
    Failed,
}

impl StepState {
    /// How it stands with a step of an answer that stands like this.
    pub fn of(step: &PlanStep, answer: MessageStatus) -> Self {
        match (step.status, answer) {
            (PlanStepStatus::Completed, _) => Self::Done,
            (PlanStepStatus::Failed, _) => Self::Failed,
            (PlanStepStatus::Pending, MessageStatus::Streaming | MessageStatus::AwaitingApproval) => Self::Waiting,
            (PlanStepStatus::Pending | PlanStepStatus::Unknown, _) => Self::Skipped,
            (PlanStepStatus::Executing, MessageStatus::Streaming) => Self::Working,
            (PlanStepStatus::Executing, MessageStatus::AwaitingApproval) => Self::Awaiting,
            (PlanStepStatus::Executing, _) => Self::Stopped,
        }
    }

    /// Its name on the page.
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Working => "working",
            Self::Awaiting => "awaiting",
            Self::Stopped => "stopped",
            Self::Skipped => "skipped",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }
}

/// Takes in a plan as it is told: what is already known of it to be further stays.
pub(super) fn planned(transcript: &mut Transcript, plan: Plan) {
    if let Some(entry) = transcript.streaming_target() {
        entry.plan = merged(entry.plan.take(), Some(plan));
    }
}

/// Takes in how a step changed. Nothing is written where nothing changes.
pub(super) fn step_changed(transcript: &mut Transcript, changed: &PlanStepChanged) {
    let held = transcript.target.and_then(|id| transcript.find(id)).and_then(|entry| entry.plan.as_ref());
    let Some(mut plan) = held.map(|plan| Plan::clone(plan)) else { return };
    plan.apply(changed);
    if held.is_some_and(|held| **held != plan)
        && let Some(entry) = transcript.streaming_target()
    {
        entry.plan = Some(Arc::new(plan));
    }
}

/// What is known of a plan that was heard of twice, in whichever order: the newer revision, and of each step the later.
pub(super) fn merged(held: Option<Arc<Plan>>, told: Option<Plan>) -> Option<Arc<Plan>> {
    let Some(mut told) = told else { return held };
    let Some(held) = held.filter(|held| held.plan_id == told.plan_id) else { return Some(Arc::new(told)) };
    if held.revision > told.revision {
        return Some(held);
    }
    let stage = |step: &PlanStep| (step.attempt, step.end_offset.is_some());
    for step in &mut told.steps {
        let known = held.steps.iter().find(|known| known.step_id == step.step_id);
        if let Some(known) = known.filter(|known| stage(known) > stage(step)) {
            step.clone_from(known);
        }
    }
    Some(Arc::new(told))
}

/// Which of an answer's text and items stand where.
pub(super) struct Layout<'a> {
    /// Before the plan; everything where there is none.
    pub(super) before: Share<'a>,
    /// In each step that was begun, in order.
    pub(super) steps: Vec<(PlanStepId, Share<'a>)>,
    /// After the plan: the answer proper.
    pub(super) after: Share<'a>,
}

/// A share of an answer.
#[derive(Clone)]
pub(super) struct Share<'a> {
    pub(super) text: Range<usize>,
    pub(super) items: &'a [Item],
}

impl<'a> Layout<'a> {
    pub(super) fn of(entry: &'a Entry) -> Self {
        let (text, items) = (entry.text.as_str(), entry.items.as_slice());
        let (mut from, mut first) = (0, 0);
        // What comes before a place in the text and in the list of items, and after all that was taken.
        let mut take_to = |to: usize, last: usize| {
            let (to, last) = (to.clamp(from, text.len()), last.clamp(first, items.len()));
            let share = Share { text: from..to, items: &items[first..last] };
            (from, first) = (to, last);
            share
        };
        let Some(plan) = entry.plan.as_deref() else {
            let before = take_to(text.len(), items.len());
            return Self { before, steps: Vec::new(), after: take_to(text.len(), items.len()) };
        };
        let mut before = None;
        let mut steps: Vec<(PlanStepId, Share<'a>)> = Vec::new();
        let mut open = None;
        for (step, offset) in plan.steps.iter().filter_map(|step| Some((step, step.offset?))) {
            let share =
                take_to(floor_offset(text, offset), begin_of(items, offset, step.calls_before.unwrap_or_default()));
            match open.replace(step) {
                None => before = Some(share),
                Some(last) => steps.push((last.step_id, share)),
            }
        }
        match open {
            // It may still grow.
            Some(PlanStep { step_id, end_offset: None, .. }) => {
                steps.push((*step_id, take_to(text.len(), items.len())));
            }
            Some(PlanStep { step_id, end_offset: Some(end), .. }) => {
                steps.push((*step_id, take_to(floor_offset(text, *end), end_of(items, *end))));
            }
            None => before = Some(take_to(floor_offset(text, plan.offset), end_of(items, plan.offset))),
        }
        let after = take_to(text.len(), items.len());
        Self { before: before.unwrap_or(Share { text: 0..0, items: &[] }), steps, after }
    }

    /// All shares, in order.
    pub(super) fn shares(self) -> impl Iterator<Item = Share<'a>> {
        [self.before].into_iter().chain(self.steps.into_iter().map(|(_, share)| share)).chain([self.after])
    }
}

/// The first item of what begins at this byte of the text and after so many calls.
fn begin_of(items: &[Item], offset: i64, calls: i64) -> usize {
    let mut before = 0_i64;
    let begins = |item: &Item| match item {
        Item::Call(_) => {
            before += 1;
            before > calls
        }
        Item::Thought(thought) => before >= calls && thought.told.offset >= offset,
    };
    items.iter().position(begins).unwrap_or(items.len())
}

/// The first item after what ends at this byte of the text. A call that stands there is still part of it, since only steps
/// call tools; what is thought there is thought about the answer.
fn end_of(items: &[Item], offset: i64) -> usize {
    let is_part = |item: &Item| match item {
        Item::Call(call) => call.offset <= offset,
        Item::Thought(thought) => thought.told.offset < offset,
    };
    items.iter().rposition(is_part).map_or(0, |last| last + 1)
}
