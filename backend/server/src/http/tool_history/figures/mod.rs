//! HTTP handler for `/admin/figures`: statistics on the number, failures, duration and cost of calls, on ratings of
//! answers, and on files, as charts and in words. The charts over time are in `charts`, the tables in `tables`, and the
//! text of both in `i18n`.

mod charts;
mod i18n;
mod tables;

use actix_web::{HttpRequest, HttpResponse, http::StatusCode};
use askama::Template;
use chrono::{DateTime, Utc};
use serde::Deserialize;
use tallybook_protocol::Rating;
use tallybook_tool_history::{Figures, ToolHistory};

pub(crate) use self::charts::Chart;
use self::tables::{FilesTable, RatingsTable, Shown, Table, Tools};
use super::{
    super::{caller::Admin, query::Query, state::State},
    i18n::Messages,
    layout::{Frame, answer, refusal},
};

/// Time ranges to choose from, with their length in hours.
const RANGES: [(&str, i64); 3] = [("24h", 24), ("7d", 7 * 24), ("30d", 30 * 24)];

#[derive(Deserialize)]
pub(crate) struct FiguresQuery {
    /// One of [`RANGES`]; any other value means one week.
    #[serde(default)]
    range: String,
    /// `all` shows up to `tables::MAX_ROWS` rows of each table; any other value shows the first rows.
    #[serde(default)]
    rows: String,
}

struct Range {
    name: &'static str,
    address: String,
    is_shown: bool,
}

#[derive(Template)]
#[template(path = "tool_history/figures.html")]
struct FiguresPage {
    frame: Frame,
    ranges: Vec<Range>,
    missing: Option<String>,
    charts: Vec<Chart>,
    tools: Option<Tools>,
    /// Model usage by day, model, user, and purpose.
    tables: Vec<Table>,
    ratings: Option<RatingsTable>,
    /// The files that are stored now, whatever the time range.
    files: Option<FilesTable>,
    /// URL of this page with all rows; `None` if the page already shows them.
    all_rows: Option<String>,
}

pub(crate) async fn show(
    state: State,
    request: HttpRequest,
    _admin: Admin,
    Query(query): Query<FiguresQuery>,
) -> HttpResponse {
    let frame = Frame::of(&state, &request);
    let (range, hours) = *RANGES.iter().find(|(name, _)| *name == query.range).unwrap_or(&RANGES[1]);
    let shown = if query.rows == "all" { Shown::All } else { Shown::First };
    match state.run_tool_history(move |history: ToolHistory| async move { history.figures(hours).await }).await {
        Ok((since, figures)) => {
            let files = files_by_user(&state, shown, frame.texts).await;
            answer(StatusCode::OK, &page(frame, (range, hours), since, shown, &figures, files))
        }
        Err(error) => refusal(frame, &request, &error),
    }
}

/// Returns the table of files; `None` if there are none, or if they cannot be read. The statistics work without it.
async fn files_by_user(state: &State, shown: Shown, texts: Messages) -> Option<FilesTable> {
    let limit = u32::try_from(shown.rows()).unwrap_or(u32::MAX);
    let users = state.service.files().list_sizes(limit).await;
    let users = users.inspect_err(|error| tracing::warn!(%error, "cannot read the sizes of files")).ok()?;
    tables::of_files(&users, texts)
}

/// Returns the chart of calls per hour of the last day; `None` if there were none, or if the statistics cannot be read.
/// The list of calls works without it.
pub(crate) async fn calls_of_last_day(state: &State, texts: Messages) -> Option<Chart> {
    let (_, hours) = RANGES[0];
    let read = state.run_tool_history(move |history: ToolHistory| async move { history.figures(hours).await }).await;
    let (since, figures) =
        read.inspect_err(|error| tracing::warn!(%error, "cannot read the calls of the last day")).ok()?;
    charts::of(&figures, since, hours, texts).into_iter().next()
}

fn page(
    frame: Frame,
    (range, hours): (&str, i64),
    since: DateTime<Utc>,
    shown: Shown,
    figures: &Figures,
    files: Option<FilesTable>,
) -> FiguresPage {
    let texts = frame.texts;
    let names = [texts.last_day(), texts.last_week(), texts.last_month()];
    let ranges = RANGES.into_iter().zip(names).map(|((range_name, _), name)| Range {
        name,
        address: format!("/admin/figures?range={range_name}"),
        is_shown: range_name == range,
    });
    FiguresPage {
        ranges: ranges.collect(),
        missing: (figures.missing_hours > 0).then(|| texts.missing_hours(figures.missing_hours)),
        charts: charts::of(figures, since, hours, texts),
        tools: tables::of_tools(figures, shown, texts),
        tables: tables::of_models(figures, shown, texts),
        ratings: tables::of_ratings(figures),
        files,
        all_rows: (shown == Shown::First).then(|| format!("/admin/figures?range={range}&rows=all")),
        frame,
    }
}
