//! Groups finished tool calls that follow each other under one line, so that the answer stays visible. A group includes
//! the reasoning between its calls.

use std::fmt::Write as _;

use tallybook_protocol::ToolCallStatus;

use super::{Item, ItemKey};
use crate::format;

/// Maximum number of tools that a group's line names.
const MAX_NAMES: usize = 3;

/// A line in a run of items without text between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// The line above the items of a group.
    Group(Group),
    /// An item, which may be in a group.
    Item {
        /// The item.
        key: ItemKey,
        /// The first item of its group.
        group: Option<ItemKey>,
    },
}

/// Two or more finished calls that follow each other, and the items between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The items, in order. The first one identifies the group.
    pub keys: Vec<ItemKey>,
    /// The outcome of each tool call.
    pub outcomes: Vec<ToolCallStatus>,
    /// The tools' names, each with its number of calls.
    pub names: Vec<(String, usize)>,
    /// The total duration of the calls, if it is known for all of them.
    pub duration_ms: Option<i64>,
    /// When the first call started and the last one ended, in milliseconds since 1970, if that is known for all of
    /// them.
    pub span: Option<(i64, i64)>,
}

impl Group {
    fn of(items: &[&Item]) -> Self {
        let calls = || items.iter().filter_map(|item| item.as_call());
        let mut names: Vec<(String, usize)> = Vec::new();
        for call in calls() {
            match names.iter_mut().find(|(name, _)| *name == call.name) {
                Some((_, count)) => *count += 1,
                None => names.push((call.name.clone(), 1)),
            }
        }
        let spans = calls().map(|call| call.span()).collect::<Option<Vec<_>>>().unwrap_or_default();
        let start = spans.iter().map(|(start, _)| *start).min();
        Self {
            keys: items.iter().map(|item| item.key()).collect(),
            outcomes: calls().map(|call| call.status).collect(),
            names,
            duration_ms: calls().try_fold(0_i64, |sum, call| Some(sum.saturating_add(call.duration_ms?))),
            span: start.zip(spans.iter().map(|(_, end)| *end).max()),
        }
    }

    /// Returns the number of tool calls.
    pub fn calls(&self) -> usize {
        self.outcomes.len()
    }

    /// Returns the outcomes of the tool calls that did not succeed, each with its number of calls.
    pub fn unsuccessful(&self) -> Vec<(ToolCallStatus, usize)> {
        let mut counts: Vec<(ToolCallStatus, usize)> = Vec::new();
        for outcome in self.outcomes.iter().copied().filter(|outcome| *outcome != ToolCallStatus::Success) {
            match counts.iter_mut().find(|(known, _)| *known == outcome) {
                Some((_, count)) => *count += 1,
                None => counts.push((outcome, 1)),
            }
        }
        counts
    }

    /// Returns the tools' names, as in `add ×2, multiply, divide, …`.
    pub fn summary(&self) -> String {
        let mut summary = String::new();
        for (name, count) in self.names.iter().take(MAX_NAMES) {
            let separator = if summary.is_empty() { "" } else { ", " };
            let _ = write!(summary, "{separator}{}", format::tool_name(name));
            if *count > 1 {
                let _ = write!(summary, " ×{count}");
            }
        }
        if self.names.len() > MAX_NAMES {
            summary.push_str(", …");
        }
        summary
    }
}

/// Returns the lines of a run of items, in order. An item that is not over is in no group.
pub fn lines(run: &[&Item]) -> Vec<Line> {
    let mut lines = Vec::with_capacity(run.len() + 1);
    for neighbors in run.chunk_by(|one, next| one.is_over() && next.is_over()) {
        let (before, grouped, after) = around_calls(neighbors);
        let alone = |item: &&Item| Line::Item { key: item.key(), group: None };
        lines.extend(before.iter().map(alone));
        let group = grouped.first().map(|first| first.key());
        if group.is_some() {
            lines.push(Line::Group(Group::of(grouped)));
        }
        lines.extend(grouped.iter().map(|item| Line::Item { key: item.key(), group }));
        lines.extend(after.iter().map(alone));
    }
    lines
}

/// Splits finished items before the first call and after the last one. The middle part, which is the group, is empty if
/// there are fewer than two calls.
fn around_calls<'a, 'b>(items: &'a [&'b Item]) -> (&'a [&'b Item], &'a [&'b Item], &'a [&'b Item]) {
    let is_call = |item: &&Item| item.as_call().is_some();
    let first = items.iter().position(is_call).unwrap_or(items.len());
    let last = items.iter().rposition(is_call).unwrap_or(first);
    if last <= first {
        return (items, &[], &[]);
    }
    let (rest, after) = items.split_at(last + 1);
    let (before, grouped) = rest.split_at(first);
    (before, grouped, after)
}

#[cfg(test)]
mod tests {
    use std::{fmt::Write as _, sync::Arc};

    use tallybook_protocol::{MessageId, Reasoning, ToolCallStatus};

    use super::{Line, lines};
    use crate::transcript::{Item, ItemKey, ReasoningPart, tests::finished_call};

    fn call(id: i64, name: &str, status: ToolCallStatus) -> Item {
        finished_call(id, |call| (call.tool_name, call.status) = (name.to_owned(), status))
    }

    fn name(key: ItemKey) -> String {
        match key {
            ItemKey::Call(id) => id.to_string(),
            ItemKey::Reasoning(_, step) => format!("t{step}"),
        }
    }

    fn reasoning(step: i64, is_over: bool) -> Item {
        let content = Reasoning { reasoning_id: step, ..Reasoning::default() };
        Item::Reasoning(Arc::new(ReasoningPart { message: MessageId(2), content, is_over }))
    }

    /// Formats lines: `[add ×2, multiply]` is a group, `1/2` is item 2 in the group of item 1, and `3` is not in a
    /// group.
    fn drawn(items: &[Item]) -> String {
        let words = lines(&items.iter().collect::<Vec<_>>()).into_iter().map(|line| match line {
            Line::Group(group) => {
                let mut marks = String::new();
                for (status, count) in group.unsuccessful() {
                    let _ = write!(marks, " {}×{count}", status.as_str());
                }
                format!("[{}{marks}]", group.summary())
            }
            Line::Item { key, group: None } => name(key),
            Line::Item { key, group: Some(first) } => format!("{}/{}", name(first), name(key)),
        });
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn finished_calls_that_follow_each_other_are_grouped_and_running_ones_are_not() {
        use ToolCallStatus::{AwaitingApproval, Cancelled, Denied, Error, Interrupted, Pending, Success};
        let [add, multiply, divide] = ["add", "multiply", "divide"];
        for (calls, expected) in [
            (vec![call(1, add, Success)], "1"),
            (vec![call(1, add, Success), call(2, add, Success)], "[add ×2] 1/1 1/2"),
            (
                vec![call(1, add, Success), call(2, multiply, Success), call(3, divide, Error)],
                "[add, multiply, divide error×1] 1/1 1/2 1/3",
            ),
            (vec![call(1, add, Success), call(2, add, Success), call(3, add, Pending)], "[add ×2] 1/1 1/2 3"),
            (vec![call(1, add, Success), call(2, add, AwaitingApproval), call(3, add, Success)], "1 2 3"),
            (
                vec![call(1, add, Denied), call(2, add, Cancelled), call(3, add, Pending), call(4, add, Interrupted)],
                "[add ×2 denied×1 cancelled×1] 1/1 1/2 3 4",
            ),
            (vec![call(1, add, Pending), call(2, add, Pending)], "1 2"),
        ] {
            assert_eq!(drawn(&calls), expected);
        }
    }

    #[test]
    fn reasoning_is_grouped_only_between_calls() {
        let call = |id| call(id, "add", ToolCallStatus::Success);
        for (items, expected) in [
            (vec![reasoning(0, true)], "t0"),
            (vec![reasoning(0, true), call(1)], "t0 1"),
            (
                vec![reasoning(0, true), call(1), reasoning(1, true), call(2), reasoning(2, true)],
                "t0 [add ×2] 1/1 1/t1 1/2 t2",
            ),
            (vec![reasoning(0, true), call(1), reasoning(1, false)], "t0 1 t1"),
        ] {
            assert_eq!(drawn(&items), expected);
        }
    }

    #[test]
    fn a_group_counts_calls_even_if_it_does_not_name_their_tools() {
        let names = ["add", "multiply", "add", "divide", "subtract"];
        let calls: Vec<Item> = (1..).zip(names).map(|(id, name)| call(id, name, ToolCallStatus::Success)).collect();
        assert!(drawn(&calls).starts_with("[add ×2, multiply, divide, …] "), "{}", drawn(&calls));
        let Some(Line::Group(group)) = lines(&calls.iter().collect::<Vec<_>>()).into_iter().next() else {
            panic!("they fold")
        };
        assert_eq!((group.calls(), group.unsuccessful()), (5, Vec::new()));
    }

    #[test]
    fn a_group_has_the_total_duration_and_the_time_span_of_its_calls() {
        let timed = |id, start: &str, ms| {
            finished_call(id, |call| (call.started_at, call.duration_ms) = (start.parse().unwrap(), ms))
        };
        let of = |calls: &[Item]| {
            let Some(Line::Group(group)) = lines(&calls.iter().collect::<Vec<_>>()).into_iter().next() else {
                panic!("they fold")
            };
            (group.duration_ms, group.span.map(|(start, end)| end - start))
        };
        // They run concurrently: the second starts first and ends last.
        let [one, other] = ["2026-11-01T12:00:00.100Z", "2026-11-01T12:00:00Z"];
        assert_eq!(of(&[timed(1, one, Some(300)), timed(2, other, Some(900))]), (Some(1200), Some(900)));
        assert_eq!(of(&[timed(1, one, Some(300)), timed(2, other, None)]), (None, None));
    }
}
