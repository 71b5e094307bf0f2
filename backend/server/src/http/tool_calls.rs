//! HTTP handler for `GET /api/tool-calls/{id}`: a tool call in full, or one of its texts as a file.

use actix_web::{HttpResponse, http::header, web};
use bytes::Bytes;
use futures_util::stream;
use serde::Deserialize;
use tallybook_conversations::CallPart;
use tallybook_protocol::{ToolCall, ToolCallId};
use utoipa::{IntoParams, ToSchema};

use super::{State, error::ApiError, query::Query};
use crate::http::caller::CurrentUser;

/// Size of the pieces in which a file is written to the connection, in bytes.
const CHUNK_BYTES: usize = 64 * 1024;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct FindQuery {
    /// Text of the call to download. If absent, the response is the call in JSON.
    #[param(inline)]
    part: Option<Part>,
}

#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Part {
    Input,
    Output,
}

/// Returns a tool call in full, or one of its texts as a file.
#[utoipa::path(
    get, path = "/api/tool-calls/{tool_call_id}", operation_id = "find_tool_call", tag = "Tools",
    params(FindQuery),
    responses((status = 200, description = "The call, or the text that `part` names.",
        content((ToolCall = "application/json"), (String = "text/plain")))),
)]
pub(crate) async fn find(
    state: State,
    CurrentUser(user): CurrentUser,
    id: web::Path<ToolCallId>,
    Query(query): Query<FindQuery>,
) -> Result<HttpResponse, ApiError> {
    let id = id.into_inner();
    let (part, name) = match query.part {
        None => {
            let call = state.run(move |service| async move { service.find_tool_call(user, id).await }).await?;
            return Ok(HttpResponse::Ok().json(call));
        }
        Some(Part::Input) => (CallPart::Input, "input"),
        Some(Part::Output) => (CallPart::Output, "output"),
    };
    let find = move |service: tallybook_conversations::ConversationService| async move {
        service.find_tool_call_part(user, id, part).await
    };
    let text = Bytes::from(state.run(find).await?);
    Ok(HttpResponse::Ok()
        .content_type("text/plain; charset=utf-8")
        // Always a download, because browsers must not display a tool's output as a page.
        .insert_header((header::CONTENT_DISPOSITION, format!("attachment; filename=\"tool-call-{id}-{name}.txt\"")))
        .streaming(stream::iter(chunks(text).map(Ok::<_, std::convert::Infallible>))))
}

/// Splits a text into pieces, so that a slow client's connection buffers only a small part of it.
fn chunks(mut text: Bytes) -> impl Iterator<Item = Bytes> {
    std::iter::from_fn(move || (!text.is_empty()).then(|| text.split_to(CHUNK_BYTES.min(text.len()))))
}
