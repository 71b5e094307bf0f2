//! What happens in a conversation: sending a message, answering one anew, summing up what was done for one, showing another version of one, following its
//! turn, playing it again, stopping it.

use actix_web::{HttpRequest, HttpResponse, web};
use serde::Deserialize;
use tallybook_protocol::{AnswerAgain, MessageId, NewMessage, ReasoningSummary, Window};
use uuid::Uuid;

use super::{State, body::OptionalBody, error::ApiError, sse};
use crate::{accounts::UserId, conversation::ConversationService, journal::EventId};

#[derive(Deserialize)]
pub(super) struct EventsQuery {
    after: Option<String>,
}

pub(super) async fn create(
    state: State,
    user: UserId,
    uuid: web::Path<Uuid>,
    body: web::Json<NewMessage>,
) -> Result<HttpResponse, ApiError> {
    let new = body.into_inner();
    let answer = state.run(|service| async move { service.send_message(user, *uuid, new).await }).await?;
    Ok(sse::respond(answer, state.keep_alive))
}

pub(super) async fn regenerate(
    state: State,
    user: UserId,
    path: web::Path<(Uuid, MessageId)>,
    again: OptionalBody<AnswerAgain>,
) -> Result<HttpResponse, ApiError> {
    let ((uuid, id), again) = (path.into_inner(), again.0);
    let regenerate = move |service: ConversationService| async move { service.regenerate(user, uuid, id, again).await };
    let answer = state.run(regenerate).await?;
    Ok(sse::respond(answer, state.keep_alive))
}

pub(super) async fn explain(
    state: State,
    user: UserId,
    path: web::Path<(Uuid, MessageId)>,
) -> Result<HttpResponse, ApiError> {
    let (uuid, id) = path.into_inner();
    let explain = move |service: ConversationService| async move { service.explain_answer(user, uuid, id).await };
    Ok(HttpResponse::Ok().json(ReasoningSummary { lines: state.run(explain).await? }))
}

pub(super) async fn select(
    state: State,
    user: UserId,
    path: web::Path<(Uuid, MessageId)>,
    window: web::Query<Window>,
) -> Result<HttpResponse, ApiError> {
    let ((uuid, id), window) = (path.into_inner(), window.into_inner());
    let work = move |service: crate::conversation::ConversationService| async move {
        service.select_message(user, uuid, id, window).await
    };
    let shown = state.run(work).await?;
    Ok(HttpResponse::Ok().json(shown))
}

pub(super) async fn playback(
    state: State,
    user: UserId,
    path: web::Path<(Uuid, MessageId)>,
    query: web::Query<EventsQuery>,
) -> Result<HttpResponse, ApiError> {
    let (uuid, id) = path.into_inner();
    // As for readers of a running turn: what is no id of ours is as good as none.
    let after = query.after.as_deref().and_then(|id| id.parse().ok());
    let playback = move |service: ConversationService| async move { service.playback(user, uuid, id, after).await };
    Ok(HttpResponse::Ok().json(state.run(playback).await?))
}

pub(super) async fn subscribe(
    state: State,
    user: UserId,
    uuid: web::Path<Uuid>,
    query: web::Query<EventsQuery>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let header = request.headers().get("last-event-id").and_then(|value| value.to_str().ok());
    // An id that is none of ours is as good as no id: the reader gets a snapshot.
    let last: Option<EventId> = header.or(query.after.as_deref()).and_then(|id| id.parse().ok());
    let answer = state.run(|service| async move { service.events(user, *uuid, last).await }).await?;
    Ok(sse::respond(answer, state.keep_alive))
}

pub(super) async fn continue_turn(
    state: State,
    user: UserId,
    uuid: web::Path<Uuid>,
    again: OptionalBody<AnswerAgain>,
) -> Result<HttpResponse, ApiError> {
    let answer = state.run(|service| async move { service.continue_turn(user, *uuid, again.0).await }).await?;
    Ok(sse::respond(answer, state.keep_alive))
}

pub(super) async fn stop(state: State, user: UserId, uuid: web::Path<Uuid>) -> Result<HttpResponse, ApiError> {
    // Stopping what has just ended by itself is no error.
    state.run(|service| async move { service.stop(user, *uuid).await }).await?;
    Ok(HttpResponse::NoContent().finish())
}
