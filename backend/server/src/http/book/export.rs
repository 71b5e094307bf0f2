//! `/admin/export`: what the list shows, as a file, streamed.

use actix_web::{HttpRequest, HttpResponse, http::header, web};
use futures_util::stream::try_unfold;
use serde::Deserialize;

use super::{
    super::{caller::Admin, error::ApiError, query::Query, state::State},
    frame::{Frame, ReasonForm, refusal, take_reason},
};
use crate::book::{Book, CallsExport, ExportFormat, Filter, Subject};

#[derive(Deserialize)]
pub(super) struct ExportQuery {
    /// The filter, as it is typed.
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

pub(super) async fn download(
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
    let begin = move |book: Book| async move { book.begin_export(&reader, &filter, format).await };
    let export = match state.run_book(begin).await {
        Ok(export) => export,
        Err(error) => return Ok(refusal(Frame::of(&state, &request), &request, &error)),
    };
    Ok(HttpResponse::Ok()
        .content_type(kind)
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((header::CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")))
        // A portion that is an error breaks the connection, so that half a file is not taken for a whole one.
        .streaming(try_unfold((state, export), |(state, export)| next(state, export))))
}

async fn next(state: State, mut export: CallsExport) -> Result<Option<(web::Bytes, (State, CallsExport))>, ApiError> {
    let work = |book: Book| async move {
        let portion = book.next_portion(&mut export).await?;
        Ok((portion, export))
    };
    let (portion, export) = state.run_book(work).await?;
    Ok(portion.map(|portion| (portion, (state, export))))
}

pub(super) async fn give_reason(
    state: State,
    request: HttpRequest,
    admin: Admin,
    Query(query): Query<ExportQuery>,
    form: web::Form<ReasonForm>,
) -> Result<HttpResponse, ApiError> {
    let filter = query.q.parse()?;
    Ok(take_reason(&state, &request, admin.0, Subject::Calls(filter), form.into_inner()).await)
}
