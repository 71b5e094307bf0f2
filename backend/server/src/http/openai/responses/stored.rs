//! HTTP handlers for `GET` and `DELETE /v1/responses/{id}`: a stored answer that later requests can name as their previous one.

use actix_web::{
    HttpResponse,
    web::{Json, Path},
};
use serde::Serialize;
use tallybook_conversations::{ConversationService, ServiceError, StoredResponse};
use tallybook_protocol::MessageStatus;
use utoipa::ToSchema;

use super::{
    super::{
        super::{error::ApiError, state::State},
        begin::program_of,
        sink::finish_of,
    },
    ask::{Repeated, message_of},
    body::{self, Head, ResponseBody},
};
use crate::http::caller::Authenticated;

/// That an answer can be gone on from no more.
#[derive(Serialize, ToSchema)]
#[schema(as = ResponseDeletion)]
pub(crate) struct Deletion {
    id: String,
    object: &'static str,
    deleted: bool,
}

/// An answer that can be gone on from, as it is stored.
#[utoipa::path(
    get, path = "/v1/responses/{id}", operation_id = "find_response", tag = "Programs",
    responses((status = 200, body = ResponseBody<'static>)),
)]
pub(crate) async fn find(
    state: State,
    Authenticated(caller): Authenticated,
    id: Path<String>,
) -> Result<HttpResponse, ApiError> {
    let (program, message_id) = (program_of(&caller), message_of(&id).ok_or(ServiceError::NoSuchResponse)?);
    let find = move |service: ConversationService| async move { service.find_response(program, message_id).await };
    let stored: StoredResponse = state.run(find).await?;
    let repeated = Repeated {
        previous_response_id: stored.previous.map(|id| format!("{}{id}", super::ask::ID_BEGIN)),
        store: true,
        ..Repeated::default()
    };
    let model = stored.model.unwrap_or_default();
    let head = Head { id: message_id.to_string(), created: stored.created_at.timestamp(), model, repeated };
    let state = match (stored.status, &stored.error) {
        (MessageStatus::Streaming | MessageStatus::AwaitingApproval, _) => body::State::InProgress,
        (MessageStatus::Complete | MessageStatus::Stopped, _) => {
            let finish = finish_of(stored.stop_reason.as_deref().unwrap_or_default());
            body::State::Ended { finish, usage: stored.usage }
        }
        (_, Some((message, code))) => body::State::Failed { message, code },
        (_, None) => body::State::Failed { message: "The answer broke off.", code: "interrupted" },
    };
    let items = head.items(&stored.content, &stored.calls, state.item_status());
    Ok(HttpResponse::Ok().json(head.body(state, items)))
}

/// Has nobody go on from an answer any more; its conversation stays.
#[utoipa::path(
    delete, path = "/v1/responses/{id}", operation_id = "delete_response", tag = "Programs",
    responses((status = 200, body = Deletion)),
)]
pub(crate) async fn delete(
    state: State,
    Authenticated(caller): Authenticated,
    id: Path<String>,
) -> Result<Json<Deletion>, ApiError> {
    let (program, message_id) = (program_of(&caller), message_of(&id).ok_or(ServiceError::NoSuchResponse)?);
    let delete = move |service: ConversationService| async move { service.delete_response(program, message_id).await };
    state.run(delete).await?;
    Ok(Json(Deletion { id: id.into_inner(), object: "response", deleted: true }))
}
