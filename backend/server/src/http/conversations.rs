//! HTTP handlers for `/api/conversations`: create, fork, list, find, update, delete one or all. The handlers for turns
//! are in `messages`.

use actix_web::{HttpRequest, HttpResponse, web};
use serde::Deserialize;
use tallybook_conversations::{ListFilter, ServiceError};
use tallybook_protocol::{
    Conversation, ConversationSummary, DeletedConversations, NewConversation, NewFork, Page, UpdateConversation, Window,
};
use utoipa::IntoParams;
use uuid::Uuid;

use super::{
    body::JsonBody,
    error::ApiError,
    query::Query,
    shared_responses::{Busy, Invalid, TooManyMessages},
    state::State,
};
use crate::http::caller::{CurrentUser, SessionUser};

/// Default number of conversations on a page of the list.
const DEFAULT_PAGE: u32 = 50;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// Only conversations whose title contains this text.
    #[serde(default)]
    #[param(max_length = 200)]
    q: String,
    /// `true` for pinned conversations only, `false` for the others.
    pinned: Option<bool>,
    /// `true` for archived conversations only, `false` for the others. If absent, a search includes both, and a list
    /// without a search excludes archived conversations.
    archived: Option<bool>,
    /// `next_cursor` of the previous page.
    cursor: Option<String>,
    /// Number of conversations on a page: at most 100, default 50.
    #[param(format = "uint32", maximum = 4_294_967_295.0)]
    limit: Option<u32>,
}

/// Creates an empty conversation.
#[utoipa::path(
    post, path = "/api/conversations", operation_id = "create_conversation", tag = "Conversations",
    request_body = NewConversation,
    responses((status = 201, body = ConversationSummary, headers(("Location" = String))), Invalid),
)]
pub(crate) async fn create(
    state: State,
    CurrentUser(user): CurrentUser,
    body: JsonBody<NewConversation>,
) -> Result<HttpResponse, ApiError> {
    let new = body.0;
    let summary = state.run(|service| async move { service.create_conversation(user, new).await }).await?;
    Ok(created(&summary))
}

/// Continues in a new conversation: copies the messages up to and including an answer.
///
/// The answer must be complete. The copies keep their tool calls, and share the files of the originals. The calls do
/// not run again, and usage is counted once. Feedback, approvals and playback are not copied. A copy counts as a
/// message toward the limit of messages per minute.
#[utoipa::path(
    post, path = "/api/conversations/{uuid}/fork", operation_id = "fork_conversation", tag = "Conversations",
    request_body = NewFork,
    responses(
        (status = 201, body = ConversationSummary, headers(("Location" = String))), Busy, Invalid, TooManyMessages,
    ),
)]
pub(crate) async fn fork(
    state: State,
    CurrentUser(user): CurrentUser,
    uuid: web::Path<Uuid>,
    body: JsonBody<NewFork>,
) -> Result<HttpResponse, ApiError> {
    let work = move |service: tallybook_conversations::ConversationService| async move {
        service.fork_conversation(user, *uuid, &body.0).await
    };
    Ok(created(&state.run(work).await?))
}

/// Returns the response for a new conversation.
fn created(summary: &ConversationSummary) -> HttpResponse {
    HttpResponse::Created().insert_header(("Location", format!("/api/conversations/{}", summary.uuid))).json(summary)
}

/// Lists your conversations, newest first.
#[utoipa::path(
    get, path = "/api/conversations", operation_id = "list_conversations", tag = "Conversations",
    params(ListQuery), responses((status = 200, body = Page<ConversationSummary>), Invalid),
)]
pub(crate) async fn list(
    state: State,
    CurrentUser(user): CurrentUser,
    Query(query): Query<ListQuery>,
) -> Result<HttpResponse, ApiError> {
    let ListQuery { q, pinned, archived, cursor, limit } = query;
    let filter = ListFilter { search: q, pinned, archived };
    let limit = limit.unwrap_or(DEFAULT_PAGE);
    let work = |service: tallybook_conversations::ConversationService| async move {
        service.list_conversations(user, filter, cursor.as_deref(), limit).await
    };
    Ok(HttpResponse::Ok().json(state.run(work).await?))
}

/// Deletes all your conversations, including pinned and archived ones.
///
/// They are hidden permanently, as if each were deleted, and their turns are stopped. API keys cannot do this.
#[utoipa::path(
    delete, path = "/api/conversations", operation_id = "delete_conversations", tag = "Conversations",
    security(("session" = [])), responses((status = 200, body = DeletedConversations), Invalid),
)]
pub(crate) async fn delete_all(
    state: State,
    user: SessionUser,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    if !request.query_string().is_empty() {
        let problem =
            "This request has no parameters: it deletes all conversations. To delete some, delete each by its ID.";
        return Err(ApiError::Query(problem.to_owned()));
    }
    let user = user.0.user;
    let deleted = state.run(|service| async move { service.delete_all_conversations(user).await }).await?;
    Ok(HttpResponse::Ok().json(DeletedConversations { deleted }))
}

/// Returns a conversation with its messages and tool calls.
#[utoipa::path(
    get, path = "/api/conversations/{uuid}", operation_id = "find_conversation", tag = "Conversations",
    params(Window), responses((status = 200, body = Conversation), Invalid),
)]
pub(crate) async fn find(
    state: State,
    CurrentUser(user): CurrentUser,
    uuid: web::Path<Uuid>,
    Query(window): Query<Window>,
) -> Result<HttpResponse, ApiError> {
    let work = move |service: tallybook_conversations::ConversationService| async move {
        service.find_conversation(user, *uuid, window).await
    };
    let found = state.run(work).await?;
    Ok(HttpResponse::Ok().json(found.ok_or(ServiceError::NotFound)?))
}

/// Changes a conversation's title or model, or pins or archives it.
#[utoipa::path(
    patch, path = "/api/conversations/{uuid}", operation_id = "update_conversation", tag = "Conversations",
    request_body = UpdateConversation, responses((status = 200, body = ConversationSummary), Invalid),
)]
pub(crate) async fn update(
    state: State,
    CurrentUser(user): CurrentUser,
    uuid: web::Path<Uuid>,
    body: JsonBody<UpdateConversation>,
) -> Result<HttpResponse, ApiError> {
    let update = body.0;
    let work = |service: tallybook_conversations::ConversationService| async move {
        service.update_conversation(user, *uuid, update).await
    };
    Ok(HttpResponse::Ok().json(state.run(work).await?))
}

/// Deletes a conversation.
///
/// It is hidden permanently. Admins can find it in the tool history until it is purged.
#[utoipa::path(
    delete, path = "/api/conversations/{uuid}", operation_id = "delete_conversation", tag = "Conversations",
    responses((status = 204, description = "The conversation is deleted.")),
)]
pub(crate) async fn delete(
    state: State,
    CurrentUser(user): CurrentUser,
    uuid: web::Path<Uuid>,
) -> Result<HttpResponse, ApiError> {
    state.run(|service| async move { service.delete_conversation(user, *uuid).await }).await?;
    Ok(HttpResponse::NoContent().finish())
}
