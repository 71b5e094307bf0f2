//! Finished items that stand next to each other fold under one line, so that the answer stays in sight.

use std::fmt::Write as _;

use tallybook_protocol::ToolCallStatus;

use super::{Item, ItemKey};

/// How many tools a group names before it only counts.
const MAX_NAMES: usize = 2;

/// A line among items that stand next to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// Stands above the items of a group.
    Group(Group),
    /// One item, and the group that it is in, by that group's first item.
    Item {
        /// The item.
        key: ItemKey,
        /// The group's first item.
        group: Option<ItemKey>,
    },
}

/// Two or more finished items next to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The items, in order; the first one names the group.
    pub keys: Vec<ItemKey>,
    /// How many of them are tool calls.
    pub calls: usize,
    /// The first different tools by name.
    pub names: Vec<String>,
    /// How many of the calls are not among those named.
    pub unnamed: usize,
    /// How many of the calls failed.
    pub failed: usize,
}

impl Group {
    fn of(items: &[&Item]) -> Self {
        let calls = || items.iter().filter_map(|item| item.as_call());
        let mut names: Vec<String> = Vec::new();
        for call in calls() {
            if names.len() < MAX_NAMES && !names.contains(&call.name) {
                names.push(call.name.clone());
            }
        }
        Self {
            keys: items.iter().map(|item| item.key()).collect(),
            calls: calls().count(),
            unnamed: calls().filter(|call| !names.contains(&call.name)).count(),
            failed: calls().filter(|call| call.status == ToolCallStatus::Error).count(),
            names,
        }
    }

    /// `add, multiply, +1`
    pub fn summary(&self) -> String {
        let mut summary = self.names.join(", ");
        if self.unnamed > 0 {
            let _ = write!(summary, ", +{}", self.unnamed);
        }
        summary
    }
}

/// The lines of those of `items` that `keys` name, in that order. An item that is not over stands by itself.
pub fn lines(keys: &[ItemKey], items: &[Item]) -> Vec<Line> {
    let run: Vec<&Item> = keys.iter().filter_map(|key| items.iter().find(|item| item.key() == *key)).collect();
    let mut lines = Vec::with_capacity(run.len() + 1);
    for neighbours in run.chunk_by(|one, next| one.is_over() && next.is_over()) {
        let group = (neighbours.len() > 1).then(|| neighbours[0].key());
        if group.is_some() {
            lines.push(Line::Group(Group::of(neighbours)));
        }
        lines.extend(neighbours.iter().map(|item| Line::Item { key: item.key(), group }));
    }
    lines
}

#[cfg(test)]
mod tests {
    use tallybook_protocol::{ToolCallId, ToolCallStatus};

    use super::{Line, lines};
    use crate::transcript::{Item, ItemKey, tests::finished_call};

    fn call(id: i64, name: &str, status: ToolCallStatus) -> Item {
        finished_call(id, |call| (call.tool_name, call.status) = (name.to_owned(), status))
    }

    /// `[add, multiply, +1] 1 2 3` for a group, plain numbers for calls by themselves.
    fn drawn(items: &[Item]) -> String {
        let keys: Vec<ItemKey> = items.iter().map(Item::key).collect();
        let words = lines(&keys, items).into_iter().map(|line| match line {
            Line::Group(group) => format!("[{}{}]", group.summary(), "!".repeat(group.failed)),
            Line::Item { key: ItemKey::Call(id), group: None } => id.to_string(),
            Line::Item { key: ItemKey::Call(id), group: Some(ItemKey::Call(first)) } => format!("{first}/{id}"),
        });
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn finished_neighbours_fold_and_what_runs_stands_by_itself() {
        use ToolCallStatus::{AwaitingApproval, Cancelled, Denied, Error, Interrupted, Pending, Success};
        let [add, multiply, divide] = ["add", "multiply", "divide"];
        for (calls, expected) in [
            (vec![call(1, add, Success)], "1"),
            (vec![call(1, add, Success), call(2, add, Success)], "[add] 1/1 1/2"),
            (
                vec![call(1, add, Success), call(2, multiply, Success), call(3, divide, Error)],
                "[add, multiply, +1!] 1/1 1/2 1/3",
            ),
            (vec![call(1, add, Success), call(2, add, Success), call(3, add, Pending)], "[add] 1/1 1/2 3"),
            (vec![call(1, add, Success), call(2, add, AwaitingApproval), call(3, add, Success)], "1 2 3"),
            (
                vec![call(1, add, Denied), call(2, add, Cancelled), call(3, add, Pending), call(4, add, Interrupted)],
                "[add] 1/1 1/2 3 4",
            ),
            (vec![call(1, add, Pending), call(2, add, Pending)], "1 2"),
        ] {
            assert_eq!(drawn(&calls), expected);
        }
    }

    #[test]
    fn an_item_that_is_not_there_is_left_out() {
        assert_eq!(lines(&[ItemKey::Call(ToolCallId(7))], &[]), []);
    }
}
