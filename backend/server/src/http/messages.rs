//! What happens in a conversation: sending a message, answering one anew, showing another version of one, following its
//! turn, stopping it.

use actix_web::{HttpRequest, HttpResponse, web};
use serde::Deserialize;
use tallybook_protocol::{MessageId, NewMessage, Window};
use uuid::Uuid;

use super::{State, error::ApiError, sse};
use crate::{accounts::UserId, journal::EventId};

#[derive(Deserialize)]
pub(super) struct FollowQuery {
    after: Option<String>,
}

pub(super) async fn create(
    state: State,
    uuid: web::Path<Uuid>,
    body: web::Json<NewMessage>,
) -> Result<HttpResponse, ApiError> {
    let new = body.into_inner();
    let answer = state.run(|service| async move { service.send_message(UserId::LOCAL, *uuid, new).await }).await?;
    Ok(sse::respond(answer, state.keep_alive))
}

pub(super) async fn regenerate(state: State, path: web::Path<(Uuid, MessageId)>) -> Result<HttpResponse, ApiError> {
    let (uuid, id) = path.into_inner();
    let answer = state.run(move |service| async move { service.regenerate(UserId::LOCAL, uuid, id).await }).await?;
    Ok(sse::respond(answer, state.keep_alive))
}

pub(super) async fn select(
    state: State,
    path: web::Path<(Uuid, MessageId)>,
    window: web::Query<Window>,
) -> Result<HttpResponse, ApiError> {
    let ((uuid, id), window) = (path.into_inner(), window.into_inner());
    let work = move |service: crate::conversation::ConversationService| async move {
        service.select_message(UserId::LOCAL, uuid, id, window).await
    };
    let shown = state.run(work).await?;
    Ok(HttpResponse::Ok().json(shown))
}

pub(super) async fn follow(
    state: State,
    uuid: web::Path<Uuid>,
    query: web::Query<FollowQuery>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let header = request.headers().get("last-event-id").and_then(|value| value.to_str().ok());
    // An id that is none of ours is as good as no id: the reader gets a snapshot.
    let last: Option<EventId> = header.or(query.after.as_deref()).and_then(|id| id.parse().ok());
    let answer = state.run(|service| async move { service.events(UserId::LOCAL, *uuid, last).await }).await?;
    Ok(sse::respond(answer, state.keep_alive))
}

pub(super) async fn continue_turn(state: State, uuid: web::Path<Uuid>) -> Result<HttpResponse, ApiError> {
    let answer = state.run(|service| async move { service.continue_turn(UserId::LOCAL, *uuid).await }).await?;
    Ok(sse::respond(answer, state.keep_alive))
}

pub(super) async fn stop(state: State, uuid: web::Path<Uuid>) -> Result<HttpResponse, ApiError> {
    // Stopping what has just ended by itself is no error.
    state.run(|service| async move { service.stop(UserId::LOCAL, *uuid).await }).await?;
    Ok(HttpResponse::NoContent().finish())
}
