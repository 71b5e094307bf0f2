//! HTTP handlers for `/admin/export`: streams the calls that match a filter as a file.

use actix_web::{HttpRequest, HttpResponse, http::header, web};
use futures_util::stream::try_unfold;
use serde::Deserialize;
use tallybook_tool_history::{CallsExport, ExportFormat, Filter, Subject, ToolHistory};

use super::{
    super::{caller::Admin, error::ApiError, query::Query, state::State},
    layout::{Frame, ReasonForm, refusal, take_reason},
};

#[derive(Deserialize)]
pub(crate) struct ExportQuery {
    /// The filter, as the user typed it.
    #[serde(default)]
    q: String,
    format: Format,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Format {
    Csv,
    Jsonl,
}

pub(crate) async fn download(
    state: State,
    request: HttpRequest,
    admin: Admin,
    Query(query): Query<ExportQuery>,
) -> Result<HttpResponse, ApiError> {
    let filter: Filter = query.q.parse()?;
    let (format, kind, name) = match query.format {
        Format::Csv => (ExportFormat::Csv, "text/csv; charset=utf-8", "tool-calls.csv"),
        Format::Jsonl => (ExportFormat::Jsonl, "application/jsonl; charset=utf-8", "tool-calls.jsonl"),
    };
    let reader = admin.0;
    let begin = move |history: ToolHistory| async move { history.begin_export(&reader, &filter, format).await };
    let export = match state.run_tool_history(begin).await {
        Ok(export) => export,
        Err(error) => return Ok(refusal(Frame::of(&state, &request), &request, &error)),
    };
    Ok(HttpResponse::Ok()
        .content_type(kind)
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((header::CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")))
        // An error aborts the connection, so that clients do not take a partial file for a complete one.
        .streaming(try_unfold((state, export), |(state, export)| next(state, export))))
}

async fn next(state: State, mut export: CallsExport) -> Result<Option<(web::Bytes, (State, CallsExport))>, ApiError> {
    let work = |history: ToolHistory| async move {
        let portion = history.next_portion(&mut export).await?;
        Ok((portion, export))
    };
    let (portion, export) = state.run_tool_history(work).await?;
    Ok(portion.map(|portion| (portion, (state, export))))
}

pub(crate) async fn give_reason(
    state: State,
    request: HttpRequest,
    admin: Admin,
    Query(query): Query<ExportQuery>,
    form: web::Form<ReasonForm>,
) -> Result<HttpResponse, ApiError> {
    let filter = query.q.parse()?;
    Ok(take_reason(&state, &request, admin.0, Subject::Calls(filter), form.into_inner()).await)
}
