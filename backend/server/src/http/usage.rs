//! HTTP handlers for the model usage of a conversation or an answer, by purpose.

use actix_web::{HttpResponse, web};
use tallybook_conversations::ConversationService;
use tallybook_protocol::{MessageId, UsageByPurpose};
use uuid::Uuid;

use super::{error::ApiError, state::State};
use crate::http::caller::CurrentUser;

/// What models used up for a conversation, by what they were asked for.
///
/// All versions of its answers count, and what was asked beside them: titles, and summaries.
#[utoipa::path(
    get, path = "/api/conversations/{uuid}/usage", operation_id = "find_conversation_usage", tag = "Conversations",
    responses((status = 200, body = UsageByPurpose)),
)]
pub(crate) async fn of_conversation(
    state: State,
    CurrentUser(user): CurrentUser,
    uuid: web::Path<Uuid>,
) -> Result<HttpResponse, ApiError> {
    let find = |service: ConversationService| async move { service.find_conversation_usage(user, *uuid).await };
    Ok(HttpResponse::Ok().json(state.run(find).await?))
}

/// What models used up for an answer, by what they were asked for. Together it is the answer's `usage`.
#[utoipa::path(
    get, path = "/api/conversations/{uuid}/messages/{message_id}/usage", operation_id = "find_message_usage",
    tag = "Conversations", responses((status = 200, body = UsageByPurpose)),
)]
pub(crate) async fn of_message(
    state: State,
    CurrentUser(user): CurrentUser,
    path: web::Path<(Uuid, MessageId)>,
) -> Result<HttpResponse, ApiError> {
    let (uuid, id) = path.into_inner();
    let find = move |service: ConversationService| async move { service.find_message_usage(user, uuid, id).await };
    Ok(HttpResponse::Ok().json(state.run(find).await?))
}
