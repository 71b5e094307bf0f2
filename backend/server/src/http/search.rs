//! HTTP handlers for search: `/api/search` in all conversations, `/api/conversations/{uuid}/search` in one.

use actix_web::{HttpResponse, web};
use serde::Deserialize;
use tallybook_conversations::ConversationService;
use tallybook_protocol::SearchPage;
use utoipa::IntoParams;
use uuid::Uuid;

use super::{State, error::ApiError, query::Query, shared_responses::Invalid};
use crate::http::caller::CurrentUser;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SearchQuery {
    /// Words, or a `"phrase in quotes"`. All of them must match.
    #[param(min_length = 1, max_length = 200)]
    query: String,
    /// `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// Searches titles, messages and tool calls for text that contains all words.
#[utoipa::path(
    get, path = "/api/search", operation_id = "search", tag = "Search",
    params(SearchQuery), responses((status = 200, body = SearchPage), Invalid),
)]
pub(crate) async fn everywhere(
    state: State,
    CurrentUser(user): CurrentUser,
    Query(query): Query<SearchQuery>,
) -> Result<HttpResponse, ApiError> {
    let SearchQuery { query, cursor } = query;
    let work = |service: ConversationService| async move { service.search(user, &query, cursor.as_deref()).await };
    Ok(HttpResponse::Ok().json(state.run(work).await?))
}

/// Searches one conversation, with the matches in the order of the conversation.
#[utoipa::path(
    get, path = "/api/conversations/{uuid}/search", operation_id = "search_conversation", tag = "Search",
    params(SearchQuery), responses((status = 200, body = SearchPage), Invalid),
)]
pub(crate) async fn in_conversation(
    state: State,
    CurrentUser(user): CurrentUser,
    uuid: web::Path<Uuid>,
    Query(query): Query<SearchQuery>,
) -> Result<HttpResponse, ApiError> {
    let SearchQuery { query, cursor } = query;
    let work = |service: ConversationService| async move {
        service.search_conversation(user, *uuid, &query, cursor.as_deref()).await
    };
    Ok(HttpResponse::Ok().json(state.run(work).await?))
}
