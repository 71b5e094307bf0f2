//! Searching: `/api/search` in all conversations, `/api/conversations/{uuid}/search` in one.

use actix_web::{HttpResponse, web};
use serde::Deserialize;
use uuid::Uuid;

use super::{State, error::ApiError};
use crate::{accounts::UserId, conversation::ConversationService};

#[derive(Deserialize)]
pub(super) struct SearchQuery {
    query: String,
    cursor: Option<String>,
}

pub(super) async fn everywhere(
    state: State,
    user: UserId,
    query: web::Query<SearchQuery>,
) -> Result<HttpResponse, ApiError> {
    let SearchQuery { query, cursor } = query.into_inner();
    let work = |service: ConversationService| async move { service.search(user, &query, cursor.as_deref()).await };
    Ok(HttpResponse::Ok().json(state.run(work).await?))
}

pub(super) async fn in_conversation(
    state: State,
    user: UserId,
    uuid: web::Path<Uuid>,
    query: web::Query<SearchQuery>,
) -> Result<HttpResponse, ApiError> {
    let SearchQuery { query, cursor } = query.into_inner();
    let work = |service: ConversationService| async move {
        service.search_conversation(user, *uuid, &query, cursor.as_deref()).await
    };
    Ok(HttpResponse::Ok().json(state.run(work).await?))
}
