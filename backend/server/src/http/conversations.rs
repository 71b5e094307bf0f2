//! `/api/conversations`: the conversations themselves. What happens in one is in `messages`.

use actix_web::{HttpResponse, web};
use serde::Deserialize;
use tallybook_protocol::{NewConversation, UpdateConversation, Window};
use uuid::Uuid;

use super::{error::ApiError, state::State};
use crate::{
    accounts::UserId,
    conversation::{ListFilter, ServiceError},
};

/// How many conversations a page of the list has when the request does not say.
const DEFAULT_PAGE: u32 = 50;

#[derive(Deserialize)]
pub(super) struct ListQuery {
    #[serde(default)]
    q: String,
    pinned: Option<bool>,
    archived: Option<bool>,
    cursor: Option<String>,
    limit: Option<u32>,
}

pub(super) async fn create(
    state: State,
    user: UserId,
    body: web::Json<NewConversation>,
) -> Result<HttpResponse, ApiError> {
    let new = body.into_inner();
    let summary = state.run(|service| async move { service.create_conversation(user, new).await }).await?;
    Ok(HttpResponse::Created()
        .insert_header(("Location", format!("/api/conversations/{}", summary.uuid)))
        .json(summary))
}

pub(super) async fn list(state: State, user: UserId, query: web::Query<ListQuery>) -> Result<HttpResponse, ApiError> {
    let ListQuery { q, pinned, archived, cursor, limit } = query.into_inner();
    let filter = ListFilter { search: q, pinned, archived };
    let limit = limit.unwrap_or(DEFAULT_PAGE);
    let work = |service: crate::conversation::ConversationService| async move {
        service.list_conversations(user, filter, cursor.as_deref(), limit).await
    };
    Ok(HttpResponse::Ok().json(state.run(work).await?))
}

pub(super) async fn find(
    state: State,
    user: UserId,
    uuid: web::Path<Uuid>,
    window: web::Query<Window>,
) -> Result<HttpResponse, ApiError> {
    let window = window.into_inner();
    let work = move |service: crate::conversation::ConversationService| async move {
        service.find_conversation(user, *uuid, window).await
    };
    let found = state.run(work).await?;
    Ok(HttpResponse::Ok().json(found.ok_or(ServiceError::NotFound)?))
}

pub(super) async fn update(
    state: State,
    user: UserId,
    uuid: web::Path<Uuid>,
    body: web::Json<UpdateConversation>,
) -> Result<HttpResponse, ApiError> {
    let update = body.into_inner();
    let work = |service: crate::conversation::ConversationService| async move {
        service.update_conversation(user, *uuid, update).await
    };
    Ok(HttpResponse::Ok().json(state.run(work).await?))
}

pub(super) async fn delete(state: State, user: UserId, uuid: web::Path<Uuid>) -> Result<HttpResponse, ApiError> {
    state.run(|service| async move { service.delete_conversation(user, *uuid).await }).await?;
    Ok(HttpResponse::NoContent().finish())
}
