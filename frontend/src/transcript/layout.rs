//! Assigns the text and items of a planned answer to the steps of its plan. The positions in the plan are not trusted:
//! whatever they are, all text and each item appear exactly once.

use std::ops::Range;

use tallybook_protocol::{Plan, PlanStep, PlanStepId};

use super::Item;

/// The shares of an answer.
pub(super) struct Layout<'a> {
    /// Before the plan; without a plan, the whole answer.
    pub(super) before: Share<'a>,
    /// The share of each step that has started, in order.
    pub(super) steps: Vec<(PlanStepId, Share<'a>)>,
    /// After the plan: the final text.
    pub(super) after: Share<'a>,
}

/// A part of an answer's text, and the items in it.
#[derive(Clone)]
pub(super) struct Share<'a> {
    pub(super) text: Range<usize>,
    pub(super) items: &'a [Item],
}

impl<'a> Layout<'a> {
    pub(super) fn of(text: &str, items: &'a [Item], plan: Option<&Plan>) -> Self {
        let (mut from, mut first) = (0, 0);
        // Takes everything up to these positions that was not taken before.
        let mut take_to = |to: usize, last: usize| {
            let (to, last) = (to.clamp(from, text.len()), last.clamp(first, items.len()));
            let share = Share { text: from..to, items: &items[first..last] };
            (from, first) = (to, last);
            share
        };
        let Some(plan) = plan else {
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
            // The step runs, so it has everything that follows.
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

    /// Returns all shares, in order.
    pub(super) fn shares(self) -> impl Iterator<Item = Share<'a>> {
        [self.before].into_iter().chain(self.steps.into_iter().map(|(_, share)| share)).chain([self.after])
    }
}

/// Returns the index of the first item of a step that starts at this byte of the text, after this many calls.
fn begin_of(items: &[Item], offset: i64, calls: i64) -> usize {
    let mut before = 0_i64;
    let begins = |item: &Item| match item {
        Item::Call(_) => {
            before += 1;
            before > calls
        }
        Item::Reasoning(part) => before >= calls && part.content.offset >= offset,
    };
    items.iter().position(begins).unwrap_or(items.len())
}

/// Returns the index of the first item after a step that ends at this byte of the text. A call at that byte still
/// belongs to the step, because only steps call tools. Reasoning at that byte belongs to the final text.
fn end_of(items: &[Item], offset: i64) -> usize {
    let is_part = |item: &Item| match item {
        Item::Call(call) => call.offset <= offset,
        Item::Reasoning(part) => part.content.offset < offset,
    };
    items.iter().rposition(is_part).map_or(0, |last| last + 1)
}

/// Clamps an offset to the text, and rounds it down to the start of a character.
pub(super) fn floor_offset(text: &str, offset: i64) -> usize {
    let offset = usize::try_from(offset.max(0)).unwrap_or(usize::MAX).min(text.len());
    text.floor_char_boundary(offset)
}
