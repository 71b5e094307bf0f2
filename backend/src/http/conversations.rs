//! `/api/conversations`: the conversations themselves. What happens in one is in `messages`.

use actix_web::{HttpResponse, Scope, web};
use serde::Deserialize;
use tallybook_protocol::{NewConversation, RenameConversation, Window};
use uuid::Uuid;

use super::{State, error::ApiError, export, messages};
use crate::{accounts::UserId, conversation::ServiceError};

/// How many conversations a page of the list has when the request does not say.
const DEFAULT_PAGE: u32 = 50;

pub(super) fn routes() -> Scope {
    web::scope("/conversations")
        .route("", web::post().to(create))
        .route("", web::get().to(list))
        .route("/{uuid}", web::get().to(find))
        .route("/{uuid}", web::patch().to(rename))
        .route("/{uuid}", web::delete().to(delete))
        .route("/{uuid}/export", web::get().to(export::download))
        .route("/{uuid}/messages", web::post().to(messages::create))
        .route("/{uuid}/messages/{id}/regenerate", web::post().to(messages::regenerate))
        .route("/{uuid}/messages/{id}/select", web::post().to(messages::select))
        .route("/{uuid}/events", web::get().to(messages::follow))
        .route("/{uuid}/continue", web::post().to(messages::resume))
        .route("/{uuid}/stop", web::post().to(messages::stop))
}

#[derive(Deserialize)]
struct ListQuery {
    #[serde(default)]
    q: String,
    cursor: Option<String>,
    limit: Option<u32>,
}

async fn create(state: State, body: web::Json<NewConversation>) -> Result<HttpResponse, ApiError> {
    let new = body.into_inner();
    let summary = state.run(|service| async move { service.create_conversation(UserId::LOCAL, new).await }).await?;
    Ok(HttpResponse::Created()
        .insert_header(("Location", format!("/api/conversations/{}", summary.uuid)))
        .json(summary))
}

async fn list(state: State, query: web::Query<ListQuery>) -> Result<HttpResponse, ApiError> {
    let ListQuery { q, cursor, limit } = query.into_inner();
    let limit = limit.unwrap_or(DEFAULT_PAGE);
    let work = |service: crate::conversation::ConversationService| async move {
        service.list_conversations(UserId::LOCAL, &q, cursor.as_deref(), limit).await
    };
    Ok(HttpResponse::Ok().json(state.run(work).await?))
}

async fn find(state: State, uuid: web::Path<Uuid>, window: web::Query<Window>) -> Result<HttpResponse, ApiError> {
    let window = window.into_inner();
    let work = move |service: crate::conversation::ConversationService| async move {
        service.find_conversation(UserId::LOCAL, *uuid, window).await
    };
    let found = state.run(work).await?;
    Ok(HttpResponse::Ok().json(found.ok_or(ServiceError::NotFound)?))
}

async fn rename(
    state: State,
    uuid: web::Path<Uuid>,
    body: web::Json<RenameConversation>,
) -> Result<HttpResponse, ApiError> {
    let work = |service: crate::conversation::ConversationService| async move {
        service.rename_conversation(UserId::LOCAL, *uuid, &body.title).await
    };
    Ok(HttpResponse::Ok().json(state.run(work).await?))
}

async fn delete(state: State, uuid: web::Path<Uuid>) -> Result<HttpResponse, ApiError> {
    state.run(|service| async move { service.delete_conversation(UserId::LOCAL, *uuid).await }).await?;
    Ok(HttpResponse::NoContent().finish())
}
