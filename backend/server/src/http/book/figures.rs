//! `/admin/figures`: how much is called, how well and how fast it goes, and what it costs; as pictures, and in words.

use std::collections::BTreeMap;

use actix_web::{HttpRequest, HttpResponse, http::StatusCode, web};
use askama::Template;
use chrono::{DateTime, Utc};
use serde::Deserialize;

use super::{
    super::{caller::Admin, state::State},
    format,
    frame::{Frame, answer, refusal},
};
use crate::book::{Book, Count, Figures, Spent, ToolFigures};

/// How high the picture of the hours is.
const HEIGHT: i64 = 100;

/// Rows of a table; what comes after them is little.
const MAX_ROWS: usize = 50;

/// Times to choose from, with their hours.
const RANGES: [(&str, i64); 3] = [("24h", 24), ("7d", 7 * 24), ("30d", 30 * 24)];

#[derive(Deserialize)]
pub(super) struct FiguresQuery {
    /// One of [`RANGES`]; anything else is a week.
    #[serde(default)]
    range: String,
}

/// A part of an hour's column.
struct Column {
    kind: &'static str,
    x: i64,
    y: i64,
    height: i64,
}

struct Range {
    name: &'static str,
    address: String,
    is_shown: bool,
}

struct Tool {
    name: String,
    calls: String,
    failed: String,
    p50: String,
    p95: String,
    /// Of a thousand, as a bar.
    share: i64,
}

struct Row {
    name: String,
    calls: String,
    input_tokens: String,
    output_tokens: String,
    cost: String,
    share: i64,
}

#[derive(Template)]
#[template(path = "book/figures.html")]
struct FiguresPage {
    frame: Frame,
    ranges: Vec<Range>,
    missing: Option<String>,
    total: Option<String>,
    /// Hours: those of the range, and the one that has begun.
    width: i64,
    columns: Vec<Column>,
    tools: Vec<Tool>,
    /// Tables of what models took, with their titles.
    tables: Vec<(&'static str, Vec<Row>)>,
}

pub(super) async fn show(
    state: State,
    request: HttpRequest,
    _admin: Admin,
    query: web::Query<FiguresQuery>,
) -> HttpResponse {
    let frame = Frame::of(&state, &request);
    let (range, hours) = *RANGES.iter().find(|(name, _)| *name == query.range).unwrap_or(&RANGES[1]);
    match state.run_book(move |book: Book| async move { book.figures(hours).await }).await {
        Ok((since, figures)) => answer(StatusCode::OK, &page(frame, range, since, hours, &figures)),
        Err(error) => refusal(frame, &request, &error),
    }
}

fn page(frame: Frame, range: &str, since: DateTime<Utc>, hours: i64, figures: &Figures) -> FiguresPage {
    let words = frame.words;
    let total = figures.total();
    let most = figures.hours.iter().max_by_key(|(_, count)| count.calls);
    let names = [words.last_day(), words.last_week(), words.last_month()];
    let ranges = RANGES.into_iter().zip(names).map(|((range_name, _), name)| Range {
        name,
        address: format!("/admin/figures?range={range_name}"),
        is_shown: range_name == range,
    });
    let in_words = |(purpose, spent): (&String, &Spent)| (words.purpose(purpose), *spent);
    let purposes: BTreeMap<String, Spent> = figures.purposes.iter().map(in_words).collect();
    let mut tables = vec![
        (words.of_days(), rows(figures.days.iter().rev())),
        (words.of_models(), sorted(figures.models.iter())),
        (words.of_people(), sorted(figures.people.iter())),
        (words.of_purposes(), sorted(purposes.iter())),
    ];
    tables.retain(|(_, rows)| !rows.is_empty());
    FiguresPage {
        ranges: ranges.collect(),
        missing: (figures.missing_hours > 0).then(|| words.missing_hours(figures.missing_hours)),
        total: most.map(|(at, count)| {
            let (calls, failed) = (format::number(total.calls), percent(total.failed_permille()));
            words.total(&calls, &failed, &format::number(count.calls), &at.format("%Y-%m-%d %H:00").to_string())
        }),
        width: hours + 1,
        columns: columns(since, figures, most.map_or(1, |(_, count)| count.calls.max(1))),
        tools: tools(figures),
        tables,
        frame,
    }
}

/// Each hour as a column: what went well below, what failed above it, the rest at the top.
fn columns(since: DateTime<Utc>, figures: &Figures, most: i64) -> Vec<Column> {
    let mut columns = Vec::new();
    for (hour, Count { calls, failed, other }) in &figures.hours {
        let x = (*hour - since).num_hours();
        let mut below = 0;
        for (kind, calls) in [("success", calls - failed - other), ("error", *failed), ("other", *other)] {
            // What there is can be seen.
            let height = if calls > 0 { (calls * HEIGHT / most).max(1) } else { 0 };
            if height > 0 {
                columns.push(Column { kind, x, y: HEIGHT - below - height, height });
                below += height;
            }
        }
    }
    columns
}

fn tools(figures: &Figures) -> Vec<Tool> {
    let mut tools: Vec<_> = figures.tools.iter().collect();
    tools.sort_by_key(|(_, tool)| -tool.count.calls);
    let most = tools.first().map_or(1, |(_, tool)| tool.count.calls.max(1));
    let within = |ms: Option<i64>| ms.map_or_else(|| "–".to_owned(), format::duration);
    let row = |(name, tool): (&String, &ToolFigures)| Tool {
        name: name.clone(),
        calls: format::number(tool.count.calls),
        failed: percent(tool.count.failed_permille()),
        p50: within(tool.within_ms(50)),
        p95: within(tool.within_ms(95)),
        share: tool.count.calls * 1000 / most,
    };
    tools.into_iter().take(MAX_ROWS).map(row).collect()
}

/// Those that took most first.
fn sorted<'a>(spent: impl Iterator<Item = (&'a String, &'a Spent)>) -> Vec<Row> {
    let mut spent: Vec<_> = spent.collect();
    spent.sort_by_key(|(_, spent)| (-spent.cost_nanos, -spent.output_tokens));
    rows(spent.into_iter())
}

fn rows<'a>(spent: impl Iterator<Item = (&'a String, &'a Spent)>) -> Vec<Row> {
    let spent: Vec<_> = spent.take(MAX_ROWS).collect();
    let most = spent.iter().map(|(_, spent)| spent.output_tokens).max().unwrap_or(1).max(1);
    let row = |(name, spent): (&String, &Spent)| Row {
        name: name.clone(),
        calls: format::number(spent.calls),
        input_tokens: format::number(spent.input_tokens),
        output_tokens: format::number(spent.output_tokens),
        cost: format::cost(spent.cost_nanos),
        share: spent.output_tokens * 1000 / most,
    };
    spent.into_iter().map(row).collect()
}

/// Thousandths, as hundredths.
fn percent(permille: i64) -> String {
    format!("{}.{} %", permille / 10, permille % 10)
}
