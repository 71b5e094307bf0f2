//! Finished tool calls that stand next to each other fold under one line, so that the answer stays in sight.

use std::fmt::Write as _;

use tallybook_protocol::ToolCallStatus;

use super::Call;

/// How many tools a group names before it only counts.
const NAMED: usize = 2;

/// A line among calls that stand next to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// Stands above the calls of a group.
    Group(Group),
    /// One call, and the group that it is in, by that group's first call.
    Call {
        /// Row id.
        id: i64,
        /// The row id of the group's first call.
        group: Option<i64>,
    },
}

/// Two or more finished calls next to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Their row ids, in order; the first one names the group.
    pub ids: Vec<i64>,
    /// The first different tools by name.
    pub names: Vec<String>,
    /// How many of the calls are not among those named.
    pub unnamed: usize,
    /// How many of the calls failed.
    pub failed: usize,
}

impl Group {
    fn of(calls: &[&Call]) -> Self {
        let mut names: Vec<String> = Vec::new();
        for call in calls {
            if names.len() < NAMED && !names.contains(&call.name) {
                names.push(call.name.clone());
            }
        }
        Self {
            ids: calls.iter().map(|call| call.id).collect(),
            unnamed: calls.iter().filter(|call| !names.contains(&call.name)).count(),
            failed: calls.iter().filter(|call| call.status == ToolCallStatus::Error).count(),
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

/// The lines of the calls `ids` of a message with `calls`, in order. A call that is not over stands by itself.
pub fn lines(ids: &[i64], calls: &[Call]) -> Vec<Line> {
    let run: Vec<&Call> = ids.iter().filter_map(|id| calls.iter().find(|call| call.id == *id)).collect();
    let mut lines = Vec::with_capacity(run.len() + 1);
    for stretch in run.chunk_by(|one, next| one.is_over() && next.is_over()) {
        let group = (stretch.len() > 1).then(|| stretch[0].id);
        if group.is_some() {
            lines.push(Line::Group(Group::of(stretch)));
        }
        lines.extend(stretch.iter().map(|call| Line::Call { id: call.id, group }));
    }
    lines
}

#[cfg(test)]
mod tests {
    use tallybook_protocol::{RawJson, ToolCallStatus};

    use super::{Line, lines};
    use crate::transcript::Call;

    fn call(id: i64, name: &str, status: ToolCallStatus) -> Call {
        Call {
            id,
            name: name.to_owned(),
            input: RawJson::from_text("{}"),
            offset: 0,
            status,
            output: None,
            error: None,
            duration_ms: None,
        }
    }

    /// `[add, multiply, +1] 1 2 3` for a group, plain numbers for calls by themselves.
    fn drawn(calls: &[Call]) -> String {
        let ids: Vec<i64> = calls.iter().map(|call| call.id).collect();
        let words = lines(&ids, calls).into_iter().map(|line| match line {
            Line::Group(group) => format!("[{}{}]", group.summary(), "!".repeat(group.failed)),
            Line::Call { id, group: None } => id.to_string(),
            Line::Call { id, group: Some(first) } => format!("{first}/{id}"),
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
    fn a_call_that_is_not_there_is_left_out() {
        assert_eq!(lines(&[7], &[]), []);
    }
}
