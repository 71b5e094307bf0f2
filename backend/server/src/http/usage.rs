//! HTTP handlers for the model usage of a conversation or an answer, by purpose.

use actix_web::{HttpResponse, web};
use tallybook_conversations::ConversationService;
use tallybook_protocol::{MessageId, UsageByPurpose};
use uuid::Uuid;

use super::{error::ApiError, state::State};
use crate::http::caller::CurrentUser;

/// Returns the model usage of a conversation by purpose.
///
/// Includes all versions of its answers and auxiliary model calls, for titles and summaries.
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

/// Returns the model usage of an answer by purpose. The sum is the answer's `usage`.
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
