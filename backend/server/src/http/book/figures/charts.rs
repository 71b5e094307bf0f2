//! What there was over time, as columns: one for each hour or day, as high as what it stands for beside the highest. Each
//! picture is told in words, too.

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use tallybook_protocol::ToolCallStatus;

use super::super::{format, words::Words};
use crate::book::{Figures, Spent};

/// How high the highest column is, in units of the picture.
const HEIGHT: i64 = 1000;

/// How calls can stand, from the bottom of a column to its top.
const STATUSES: [ToolCallStatus; 7] = [
    ToolCallStatus::Success,
    ToolCallStatus::Error,
    ToolCallStatus::Denied,
    ToolCallStatus::Cancelled,
    ToolCallStatus::Interrupted,
    ToolCallStatus::AwaitingApproval,
    ToolCallStatus::Pending,
];

/// A picture.
pub(super) struct Chart {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// What it shows, in words.
    pub(super) words: String,
    /// For how many columns there is room.
    pub(super) width: i64,
    pub(super) columns: Vec<Column>,
    /// What the highest column stands for, in words.
    pub(super) highest: String,
    /// The times at its left and right.
    pub(super) begins: String,
    pub(super) ends: String,
    /// The parts of which columns are made, each with what all of it is; none where there is one alone.
    pub(super) key: Vec<(&'static str, String)>,
}

/// What stands for one hour or day.
pub(super) struct Column {
    pub(super) x: i64,
    /// What it says where it is pointed at.
    pub(super) words: String,
    pub(super) parts: Vec<Part>,
}

/// A part of a column.
pub(super) struct Part {
    pub(super) kind: &'static str,
    pub(super) y: i64,
    pub(super) height: i64,
}

/// What a column is made from.
struct Amounts {
    x: i64,
    words: String,
    parts: Vec<(&'static str, i64)>,
}

/// The pictures of which there is something to be seen.
pub(super) fn of(figures: &Figures, since: DateTime<Utc>, hours: i64, words: Words) -> Vec<Chart> {
    let span = Span { since, hours };
    [span.calls(figures, words), span.failed(figures, words), span.cost(figures, words), span.tokens(figures, words)]
        .into_iter()
        .flatten()
        .collect()
}

/// The time over which is drawn: so many hours, and the one that has begun.
struct Span {
    since: DateTime<Utc>,
    hours: i64,
}

impl Span {
    /// Calls an hour, by how they stand.
    fn calls(&self, figures: &Figures, words: Words) -> Option<Chart> {
        let (at, most) = figures.hours.iter().max_by_key(|(_, count)| count.calls)?;
        let total = figures.total();
        let amounts = figures.hours.iter().map(|(at, count)| Amounts {
            x: self.hour(*at),
            words: words.calls_of_hour(&hour(*at), &format::number(count.calls)),
            parts: STATUSES.map(|status| (status.as_str(), count.of(status))).into(),
        });
        let in_words = words.total(
            &format::number(total.calls),
            &percent(total.failed_permille()),
            &format::number(most.calls),
            &hour(*at),
        );
        let key = STATUSES.into_iter().filter(|status| total.of(*status) > 0);
        let key = key
            .map(|status| (status.as_str(), format!("{} {}", words.status(status), format::number(total.of(status)))));
        Some(Chart {
            key: key.collect(),
            ..self.by_hour("calls", words.calls_an_hour(), in_words, amounts.collect(), format::number)
        })
    }

    /// The share of each hour's calls that failed.
    fn failed(&self, figures: &Figures, words: Words) -> Option<Chart> {
        let (at, worst) = figures.hours.iter().max_by_key(|(_, count)| count.failed_permille())?;
        let failed = figures.hours.iter().map(|(at, count)| (*at, count.failed_permille(), count.calls));
        let amounts = failed.filter(|(_, share, _)| *share > 0).map(|(at, share, calls)| Amounts {
            x: self.hour(at),
            words: words.failed_of_hour(&hour(at), &percent(share), &format::number(calls)),
            parts: vec![("error", share)],
        });
        let amounts: Vec<_> = amounts.collect();
        if amounts.is_empty() {
            return None;
        }
        let all = percent(figures.total().failed_permille());
        let in_words =
            words.failed_of_all(&all, &percent(worst.failed_permille()), &format::number(worst.calls), &hour(*at));
        Some(self.by_hour("failed", words.failed_an_hour(), in_words, amounts, percent))
    }

    /// What models cost by day.
    fn cost(&self, figures: &Figures, words: Words) -> Option<Chart> {
        let all: i64 = figures.days.values().map(|spent| spent.cost_nanos).sum();
        let (day, most) = figures.days.iter().max_by_key(|(_, spent)| spent.cost_nanos).filter(|_| all > 0)?;
        let in_words = words.cost_of_days(&format::cost(all), &format::cost(most.cost_nanos), day);
        let parts = |spent: &Spent| (format::cost(spent.cost_nanos), vec![("cost", spent.cost_nanos)]);
        Some(self.by_day("cost", words.cost_a_day(), in_words, figures, format::cost, parts))
    }

    /// What models read and wrote by day.
    fn tokens(&self, figures: &Figures, words: Words) -> Option<Chart> {
        let both = |spent: &Spent| spent.input_tokens + spent.output_tokens;
        let (day, most) =
            figures.days.iter().max_by_key(|(_, spent)| both(spent)).filter(|(_, spent)| both(spent) > 0)?;
        let input: i64 = figures.days.values().map(|spent| spent.input_tokens).sum();
        let output: i64 = figures.days.values().map(|spent| spent.output_tokens).sum();
        let said = |input: i64, output: i64| words.tokens(&format::number(input), &format::number(output));
        let in_words = words.tokens_of_days(&said(input, output), &format::number(both(most)), day);
        let parts = |spent: &Spent| {
            let (input, output) = (spent.input_tokens, spent.output_tokens);
            (said(input, output), vec![("input", input), ("output", output)])
        };
        let key = [("input", words.tokens_in(), input), ("output", words.tokens_out(), output)];
        let key = key.map(|(kind, name, tokens)| (kind, format!("{name} {}", format::number(tokens))));
        let chart = self.by_day("tokens", words.tokens_a_day(), in_words, figures, format::number, parts);
        Some(Chart { key: key.into(), ..chart })
    }

    fn hour(&self, at: DateTime<Utc>) -> i64 {
        (at - self.since).num_hours()
    }

    fn by_hour(
        &self,
        id: &'static str,
        title: &'static str,
        words: String,
        amounts: Vec<Amounts>,
        written: impl Fn(i64) -> String,
    ) -> Chart {
        let (columns, highest) = columns(amounts);
        let ends = self.since + TimeDelta::hours(self.hours);
        Chart {
            id,
            title,
            words,
            width: self.hours + 1,
            columns,
            highest: written(highest),
            begins: hour(self.since),
            ends: hour(ends),
            key: Vec::new(),
        }
    }

    fn by_day(
        &self,
        id: &'static str,
        title: &'static str,
        words: String,
        figures: &Figures,
        written: impl Fn(i64) -> String,
        parts: impl Fn(&Spent) -> (String, Vec<(&'static str, i64)>),
    ) -> Chart {
        let (begins, ends) = (self.since.date_naive(), (self.since + TimeDelta::hours(self.hours)).date_naive());
        let amounts = figures.days.iter().filter_map(|(day, spent)| {
            let date: NaiveDate = day.parse().ok()?;
            let (words, parts) = parts(spent);
            Some(Amounts { x: (date - begins).num_days(), words: format!("{day}: {words}"), parts })
        });
        let (columns, highest) = columns(amounts.collect());
        Chart {
            id,
            title,
            words,
            width: (ends - begins).num_days() + 1,
            columns,
            highest: written(highest),
            begins: begins.to_string(),
            ends: ends.to_string(),
            key: Vec::new(),
        }
    }
}

/// Columns to scale, and what the highest stands for.
fn columns(amounts: Vec<Amounts>) -> (Vec<Column>, i64) {
    let sum = |parts: &[(&str, i64)]| parts.iter().map(|(_, amount)| *amount).sum::<i64>();
    let highest = amounts.iter().map(|column| sum(&column.parts)).max().unwrap_or_default();
    let height = |amount: i64| i64::try_from(i128::from(amount) * i128::from(HEIGHT) / i128::from(highest.max(1)));
    let column = |Amounts { x, words, parts }: Amounts| {
        let mut below = 0;
        let parts = parts.into_iter().filter(|(_, amount)| *amount > 0).map(|(kind, amount)| {
            // What there is can be seen.
            let height = height(amount).unwrap_or_default().max(1);
            below += height;
            Part { kind, y: HEIGHT - below, height }
        });
        Column { x, words, parts: parts.collect() }
    };
    (amounts.into_iter().map(column).collect(), highest)
}

fn hour(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:00").to_string()
}

/// Thousandths, as hundredths.
pub(super) fn percent(permille: i64) -> String {
    format!("{}.{} %", permille / 10, permille % 10)
}

#[cfg(test)]
mod tests {
    use super::{Amounts, columns};

    #[test]
    fn columns_are_to_scale_and_what_there_is_is_seen() {
        let amounts = |x, parts: &[(&'static str, i64)]| Amounts { x, words: String::new(), parts: parts.to_vec() };
        let (columns, highest) = columns(vec![
            amounts(0, &[("success", 3000), ("error", 1000)]),
            amounts(2, &[("success", 1), ("error", 0), ("denied", 1000)]),
        ]);
        assert_eq!(highest, 4000);
        let parts = |column: &super::Column| {
            column.parts.iter().map(|it| (column.x, it.kind, it.y, it.height)).collect::<Vec<_>>()
        };
        let drawn: Vec<_> = columns.iter().flat_map(parts).collect();
        let expected =
            [(0, "success", 250, 750), (0, "error", 0, 250), (2, "success", 999, 1), (2, "denied", 749, 250)];
        assert_eq!(drawn, expected);
    }
}
