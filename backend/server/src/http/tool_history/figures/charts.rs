//! Charts over time: one column per hour or day, with a height relative to the highest column. Each chart also has a
//! text description.

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use tallybook_protocol::ToolCallStatus;
use tallybook_tool_history::{Figures, Usage};

use super::super::{format, i18n::Messages};

/// Height of the highest column, in units of the picture.
const HEIGHT: i64 = 1000;

/// The statuses of calls, from the bottom of a column to its top.
const STATUSES: [ToolCallStatus; 7] = [
    ToolCallStatus::Success,
    ToolCallStatus::Error,
    ToolCallStatus::Denied,
    ToolCallStatus::Cancelled,
    ToolCallStatus::Interrupted,
    ToolCallStatus::AwaitingApproval,
    ToolCallStatus::Pending,
];

/// A chart.
pub(crate) struct Chart {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    /// Description of the chart.
    pub(crate) text: String,
    /// Number of columns that the chart has room for.
    pub(crate) width: i64,
    pub(crate) columns: Vec<Column>,
    /// Value of the highest column, as text.
    pub(crate) highest: String,
    /// Times at the left and right edge.
    pub(crate) begins: String,
    pub(crate) ends: String,
    /// Legend: each kind of part with its label and its total. Empty if columns have only one part.
    pub(crate) key: Vec<(&'static str, String)>,
}

/// The column of one hour or day.
pub(crate) struct Column {
    pub(crate) x: i64,
    /// Tooltip of the column.
    pub(crate) text: String,
    pub(crate) parts: Vec<Part>,
}

/// A part of a column.
pub(crate) struct Part {
    pub(crate) kind: &'static str,
    pub(crate) y: i64,
    pub(crate) height: i64,
}

/// The values of a column, not yet to scale.
struct Amounts {
    x: i64,
    text: String,
    parts: Vec<(&'static str, i64)>,
}

/// Returns the charts that have something to show.
pub(crate) fn of(figures: &Figures, since: DateTime<Utc>, hours: i64, texts: Messages) -> Vec<Chart> {
    let span = Span { since, hours };
    [span.calls(figures, texts), span.failed(figures, texts), span.cost(figures, texts), span.tokens(figures, texts)]
        .into_iter()
        .flatten()
        .collect()
}

/// Time range of the charts: `hours` full hours, and the current one.
struct Span {
    since: DateTime<Utc>,
    hours: i64,
}

impl Span {
    /// Returns the chart of calls per hour, by status.
    fn calls(&self, figures: &Figures, texts: Messages) -> Option<Chart> {
        let (at, most) = figures.hours.iter().max_by_key(|(_, count)| count.calls)?;
        let total = figures.total();
        let amounts = figures.hours.iter().map(|(at, count)| Amounts {
            x: self.hour(*at),
            text: texts.calls_of_hour(&hour(*at), &format::number(count.calls)),
            parts: STATUSES.map(|status| (status.as_str(), count.of(status))).into(),
        });
        let in_words = texts.total(
            &format::number(total.calls),
            &percent(total.failed_permille()),
            &format::number(most.calls),
            &hour(*at),
        );
        let key = STATUSES.into_iter().filter(|status| total.of(*status) > 0);
        let key = key
            .map(|status| (status.as_str(), format!("{} {}", texts.status(status), format::number(total.of(status)))));
        Some(Chart {
            key: key.collect(),
            ..self.by_hour("calls", texts.calls_an_hour(), in_words, amounts.collect(), format::number)
        })
    }

    /// Returns the chart of the share of failed calls per hour.
    fn failed(&self, figures: &Figures, texts: Messages) -> Option<Chart> {
        let (at, worst) = figures.hours.iter().max_by_key(|(_, count)| count.failed_permille())?;
        let failed = figures.hours.iter().map(|(at, count)| (*at, count.failed_permille(), count.calls));
        let amounts = failed.filter(|(_, share, _)| *share > 0).map(|(at, share, calls)| Amounts {
            x: self.hour(at),
            text: texts.failed_of_hour(&hour(at), &percent(share), &format::number(calls)),
            parts: vec![("error", share)],
        });
        let amounts: Vec<_> = amounts.collect();
        if amounts.is_empty() {
            return None;
        }
        let all = percent(figures.total().failed_permille());
        let in_words =
            texts.failed_of_all(&all, &percent(worst.failed_permille()), &format::number(worst.calls), &hour(*at));
        Some(self.by_hour("failed", texts.failed_an_hour(), in_words, amounts, percent))
    }

    /// Returns the chart of model costs per day.
    fn cost(&self, figures: &Figures, texts: Messages) -> Option<Chart> {
        let all: i64 = figures.days.values().map(|spent| spent.cost_nanos).sum();
        let (day, most) = figures.days.iter().max_by_key(|(_, spent)| spent.cost_nanos).filter(|_| all > 0)?;
        let in_words = texts.cost_of_days(&format::cost(all), &format::cost(most.cost_nanos), day);
        let parts = |spent: &Usage| (format::cost(spent.cost_nanos), vec![("cost", spent.cost_nanos)]);
        Some(self.by_day("cost", texts.cost_a_day(), in_words, figures, format::cost, parts))
    }

    /// Returns the chart of input and output tokens per day.
    fn tokens(&self, figures: &Figures, texts: Messages) -> Option<Chart> {
        let both = |spent: &Usage| spent.input_tokens + spent.output_tokens;
        let (day, most) =
            figures.days.iter().max_by_key(|(_, spent)| both(spent)).filter(|(_, spent)| both(spent) > 0)?;
        let input: i64 = figures.days.values().map(|spent| spent.input_tokens).sum();
        let output: i64 = figures.days.values().map(|spent| spent.output_tokens).sum();
        let said = |input: i64, output: i64| texts.tokens(&format::number(input), &format::number(output));
        let in_words = texts.tokens_of_days(&said(input, output), &format::number(both(most)), day);
        let parts = |spent: &Usage| {
            let (input, output) = (spent.input_tokens, spent.output_tokens);
            (said(input, output), vec![("input", input), ("output", output)])
        };
        let key = [("input", texts.tokens_in(), input), ("output", texts.tokens_out(), output)];
        let key = key.map(|(kind, name, tokens)| (kind, format!("{name} {}", format::number(tokens))));
        let chart = self.by_day("tokens", texts.tokens_a_day(), in_words, figures, format::number, parts);
        Some(Chart { key: key.into(), ..chart })
    }

    fn hour(&self, at: DateTime<Utc>) -> i64 {
        (at - self.since).num_hours()
    }

    fn by_hour(
        &self,
        id: &'static str,
        title: &'static str,
        text: String,
        amounts: Vec<Amounts>,
        written: impl Fn(i64) -> String,
    ) -> Chart {
        let (columns, highest) = columns(amounts);
        let ends = self.since + TimeDelta::hours(self.hours);
        Chart {
            id,
            title,
            text,
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
        text: String,
        figures: &Figures,
        written: impl Fn(i64) -> String,
        parts: impl Fn(&Usage) -> (String, Vec<(&'static str, i64)>),
    ) -> Chart {
        let (begins, ends) = (self.since.date_naive(), (self.since + TimeDelta::hours(self.hours)).date_naive());
        let amounts = figures.days.iter().filter_map(|(day, spent)| {
            let date: NaiveDate = day.parse().ok()?;
            let (text, parts) = parts(spent);
            Some(Amounts { x: (date - begins).num_days(), text: format!("{day}: {text}"), parts })
        });
        let (columns, highest) = columns(amounts.collect());
        Chart {
            id,
            title,
            text,
            width: (ends - begins).num_days() + 1,
            columns,
            highest: written(highest),
            begins: begins.to_string(),
            ends: ends.to_string(),
            key: Vec::new(),
        }
    }
}

/// Scales the columns. Also returns the value of the highest one.
fn columns(amounts: Vec<Amounts>) -> (Vec<Column>, i64) {
    let sum = |parts: &[(&str, i64)]| parts.iter().map(|(_, amount)| *amount).sum::<i64>();
    let highest = amounts.iter().map(|column| sum(&column.parts)).max().unwrap_or_default();
    let height = |amount: i64| i64::try_from(i128::from(amount) * i128::from(HEIGHT) / i128::from(highest.max(1)));
    let column = |Amounts { x, text, parts }: Amounts| {
        let mut below = 0;
        let parts = parts.into_iter().filter(|(_, amount)| *amount > 0).map(|(kind, amount)| {
            // Every value above 0 gets at least one unit of height, so that it is visible.
            let height = height(amount).unwrap_or_default().max(1);
            below += height;
            Part { kind, y: HEIGHT - below, height }
        });
        Column { x, text, parts: parts.collect() }
    };
    (amounts.into_iter().map(column).collect(), highest)
}

fn hour(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:00").to_string()
}

/// Formats thousandths as a percentage with one decimal place.
pub(crate) fn percent(permille: i64) -> String {
    format!("{}.{} %", permille / 10, permille % 10)
}

#[cfg(test)]
mod tests {
    use super::{Amounts, columns};

    #[test]
    fn columns_are_to_scale_and_small_values_are_visible() {
        let amounts = |x, parts: &[(&'static str, i64)]| Amounts { x, text: String::new(), parts: parts.to_vec() };
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
