//! Results of tasks, one by one and as tables by category and mode.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde_json::{Value, json};
use tallybook_protocol::Usage;

use super::{mode::Mode, task::Task};

/// The result of checking an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The answer passed all checks.
    Passed,
    /// The reason for the failure.
    Failed(String),
}

/// The result of one task.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// ID of the task.
    pub id: String,
    /// Category of the task.
    pub category: String,
    /// The result of checking the answer.
    pub verdict: Verdict,
    /// Usage of the turn; zero if the turn did not end.
    pub usage: Usage,
    /// Time from the question to the end.
    pub took: Duration,
    /// The answer; empty if there is none.
    pub text: String,
}

impl Outcome {
    /// Creates the result of a task that has not been asked yet.
    pub(super) fn of(task: &Task) -> Self {
        Self {
            id: task.id.clone(),
            category: task.category.clone(),
            verdict: Verdict::Failed(String::new()),
            usage: Usage::default(),
            took: Duration::ZERO,
            text: String::new(),
        }
    }

    /// Returns `true` if the answer passed all checks.
    pub fn has_passed(&self) -> bool {
        self.verdict == Verdict::Passed
    }
}

/// Results of tasks, by mode.
pub type Outcomes = BTreeMap<Mode, Vec<Outcome>>;

/// Returns the rows of the table, starting with its header: one row per category, then the totals.
pub(super) fn rows(outcomes: &Outcomes) -> Vec<Vec<String>> {
    let row = |name: &str, cell: &dyn Fn(&[Outcome]) -> String| {
        std::iter::once(name.to_owned()).chain(outcomes.values().map(|all| cell(all))).collect::<Vec<_>>()
    };
    let head = std::iter::once(String::new()).chain(outcomes.keys().map(|mode| mode.name().to_owned())).collect();
    let mut rows = vec![head];
    let categories: BTreeSet<&str> = outcomes.values().flatten().map(|outcome| outcome.category.as_str()).collect();
    for category in categories {
        rows.push(row(category, &|all| share(all.iter().filter(|outcome| outcome.category == category))));
    }
    let total = |all: &[Outcome]| {
        all.iter().fold(Usage::default(), |mut total, outcome| {
            total += outcome.usage;
            total
        })
    };
    rows.push(row("all", &|all| share(all.iter())));
    rows.push(row("tokens in", &|all| total(all).input_tokens.to_string()));
    rows.push(row("tokens out", &|all| total(all).output_tokens.to_string()));
    rows.push(row("cost", &|all| total(all).cost_nanos.map_or_else(|| "–".to_owned(), cost)));
    rows.push(row("time", &|all| format!("{:.1} s", all.iter().map(|one| one.took).sum::<Duration>().as_secs_f64())));
    rows
}

/// Returns the number of passed tasks and the number of asked tasks.
fn share<'a>(all: impl Iterator<Item = &'a Outcome>) -> String {
    let (passed, asked) =
        all.fold((0, 0), |(passed, asked), outcome| (passed + u32::from(outcome.has_passed()), asked + 1));
    if asked == 0 { "–".to_owned() } else { format!("{passed}/{asked}") }
}

/// Formats a cost in billionths of the currency of the settings' prices.
fn cost(nanos: i64) -> String {
    format!("{}.{:06}", nanos / 1_000_000_000, nanos % 1_000_000_000 / 1000)
}

/// Returns all results as JSON.
pub(super) fn to_json(model: &str, outcomes: &Outcomes) -> Value {
    let one = |mode: Mode, outcome: &Outcome| {
        json!({
            "mode": mode.name(),
            "task": outcome.id,
            "category": outcome.category,
            "passed": outcome.has_passed(),
            "complaint": match &outcome.verdict { Verdict::Passed => None, Verdict::Failed(why) => Some(why) },
            "answer": outcome.text,
            "usage": outcome.usage,
            "duration_ms": u64::try_from(outcome.took.as_millis()).unwrap_or(u64::MAX),
        })
    };
    let all: Vec<Value> =
        outcomes.iter().flat_map(|(mode, all)| all.iter().map(move |outcome| one(*mode, outcome))).collect();
    json!({ "model": model, "outcomes": all })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tallybook_protocol::Usage;

    use super::{Outcome, Outcomes, Verdict, rows, to_json};
    use crate::eval::mode::Mode;

    fn outcome(category: &str, verdict: Verdict, cost_nanos: Option<i64>) -> Outcome {
        let usage = Usage { input_tokens: 100, output_tokens: 7, cached_tokens: 0, cost_nanos };
        let (id, category, text) = (format!("{category}-1"), category.to_owned(), "Five.".to_owned());
        Outcome { id, category, verdict, usage, took: Duration::from_millis(1250), text }
    }

    #[test]
    fn the_table_has_the_passed_tasks_and_their_usage() {
        let failed = Verdict::Failed("the answer does not name 5".to_owned());
        let native = vec![outcome("chain", Verdict::Passed, Some(1_500_000)), outcome("sum", failed, None)];
        let outcomes: Outcomes =
            [(Mode::Native, native), (Mode::Plan, vec![outcome("sum", Verdict::Passed, None)])].into();
        let expected = [
            ["", "native", "plan"],
            ["chain", "1/1", "–"],
            ["sum", "0/1", "1/1"],
            ["all", "1/2", "1/1"],
            ["tokens in", "200", "100"],
            ["tokens out", "14", "7"],
            ["cost", "0.001500", "–"],
            ["time", "2.5 s", "1.2 s"],
        ];
        assert_eq!(rows(&outcomes), expected);
        let json = to_json("demo", &outcomes);
        assert_eq!(
            (&json["outcomes"][1]["complaint"], &json["outcomes"][1]["mode"]),
            (&"the answer does not name 5".into(), &"native".into())
        );
    }
}
