//! HTTP handlers for messages: send, regenerate, explain, rate, select a version, play back, subscribe to events,
//! resume, stop.

use actix_web::{HttpRequest, HttpResponse, web};
use serde::Deserialize;
use tallybook_conversations::{ConversationService, journal::EventId};
use tallybook_protocol::{
    Conversation, Feedback, MessageId, NewMessage, Playback, ReasoningSummary, RetryOptions, Window,
};
use utoipa::IntoParams;
use uuid::Uuid;

use super::{
    State,
    body::{JsonBody, OptionalBody},
    connection_limits::StreamPermit,
    error::ApiError,
    query::Query,
    shared_responses::{Busy, Invalid, ModelFailed, TurnEvents, TurnRefused},
    sse,
};
use crate::http::caller::CurrentUser;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct EventsQuery {
    /// ID of the last event that the client has. An ID that is not an event's counts as absent.
    after: Option<String>,
}

/// Sends a message and streams the answer.
///
/// The turn continues on the server if the client disconnects. `GET …/events` subscribes to it again.
#[utoipa::path(
    post, path = "/api/conversations/{uuid}/messages", operation_id = "send_message", tag = "Turns",
    request_body = NewMessage, responses(TurnEvents, TurnRefused),
)]
pub(crate) async fn create(
    state: State,
    CurrentUser(user): CurrentUser,
    _permit: StreamPermit,
    uuid: web::Path<Uuid>,
    body: JsonBody<NewMessage>,
) -> Result<HttpResponse, ApiError> {
    let new = body.0;
    let answer = state.run(|service| async move { service.send_message(user, *uuid, new).await }).await?;
    Ok(sse::respond(answer, state.keep_alive))
}

/// Regenerates an answer. The old version is kept.
#[utoipa::path(
    post, path = "/api/conversations/{uuid}/messages/{message_id}/regenerate", operation_id = "regenerate", tag = "Turns",
    request_body = Option<RetryOptions>, responses(TurnEvents, TurnRefused),
)]
pub(crate) async fn regenerate(
    state: State,
    CurrentUser(user): CurrentUser,
    _permit: StreamPermit,
    path: web::Path<(Uuid, MessageId)>,
    again: OptionalBody<RetryOptions>,
) -> Result<HttpResponse, ApiError> {
    let ((uuid, id), again) = (path.into_inner(), again.0);
    let regenerate = move |service: ConversationService| async move { service.regenerate(user, uuid, id, again).await };
    let answer = state.run(regenerate).await?;
    Ok(sse::respond(answer, state.keep_alive))
}

/// Explains an answer: asks the model for at most three lines on what it did and why.
#[utoipa::path(
    post, path = "/api/conversations/{uuid}/messages/{message_id}/reasoning-summary", operation_id = "explain_message",
    tag = "Turns", responses((status = 200, body = ReasoningSummary), Busy, Invalid, ModelFailed),
)]
pub(crate) async fn explain(
    state: State,
    CurrentUser(user): CurrentUser,
    path: web::Path<(Uuid, MessageId)>,
) -> Result<HttpResponse, ApiError> {
    let (uuid, id) = path.into_inner();
    let explain = move |service: ConversationService| async move { service.explain_answer(user, uuid, id).await };
    Ok(HttpResponse::Ok().json(ReasoningSummary { lines: state.run(explain).await? }))
}

/// Stores your feedback on an answer that has ended, in place of any earlier feedback.
///
/// Spaces around the reason are removed, and an empty reason counts as absent. Admins can see the feedback in the tool
/// history.
#[utoipa::path(
    put, path = "/api/conversations/{uuid}/messages/{message_id}/feedback", operation_id = "set_feedback", tag = "Turns",
    request_body = Feedback, responses((status = 200, body = Feedback), Busy, Invalid),
)]
pub(crate) async fn set_feedback(
    state: State,
    CurrentUser(user): CurrentUser,
    path: web::Path<(Uuid, MessageId)>,
    body: JsonBody<Feedback>,
) -> Result<HttpResponse, ApiError> {
    let ((uuid, id), given) = (path.into_inner(), body.0);
    let set = move |service: ConversationService| async move { service.set_feedback(user, uuid, id, given).await };
    Ok(HttpResponse::Ok().json(state.run(set).await?))
}

/// Deletes your feedback on an answer, if there is any.
#[utoipa::path(
    delete, path = "/api/conversations/{uuid}/messages/{message_id}/feedback", operation_id = "delete_feedback",
    tag = "Turns", responses((status = 204, description = "There is no feedback on this answer now.")),
)]
pub(crate) async fn delete_feedback(
    state: State,
    CurrentUser(user): CurrentUser,
    path: web::Path<(Uuid, MessageId)>,
) -> Result<HttpResponse, ApiError> {
    let (uuid, id) = path.into_inner();
    state.run(move |service| async move { service.delete_feedback(user, uuid, id).await }).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Selects a version: shows the newest branch that contains this message.
#[utoipa::path(
    post, path = "/api/conversations/{uuid}/messages/{message_id}/select", operation_id = "select_message", tag = "Turns",
    params(Window), responses((status = 200, body = Conversation), Busy, Invalid),
)]
pub(crate) async fn select(
    state: State,
    CurrentUser(user): CurrentUser,
    path: web::Path<(Uuid, MessageId)>,
    Query(window): Query<Window>,
) -> Result<HttpResponse, ApiError> {
    let (uuid, id) = path.into_inner();
    let work = move |service: tallybook_conversations::ConversationService| async move {
        service.select_message(user, uuid, id, window).await
    };
    let shown = state.run(work).await?;
    Ok(HttpResponse::Ok().json(shown))
}

/// Returns the events of an answer that has ended, with their times, for playback.
#[utoipa::path(
    get, path = "/api/conversations/{uuid}/messages/{message_id}/playback", operation_id = "playback", tag = "Turns",
    params(EventsQuery), responses((status = 200, body = Playback), Busy),
)]
pub(crate) async fn playback(
    state: State,
    CurrentUser(user): CurrentUser,
    path: web::Path<(Uuid, MessageId)>,
    Query(query): Query<EventsQuery>,
) -> Result<HttpResponse, ApiError> {
    let (uuid, id) = path.into_inner();
    // As in `subscribe`, an ID that no event has counts as absent.
    let after = query.after.as_deref().and_then(|id| id.parse().ok());
    let playback = move |service: ConversationService| async move { service.playback(user, uuid, id, after).await };
    Ok(HttpResponse::Ok().json(state.run(playback).await?))
}

/// Subscribes to the events of the running turn.
///
/// The header `Last-Event-ID`, which browsers send, has priority over `after`.
#[utoipa::path(
    get, path = "/api/conversations/{uuid}/events", operation_id = "follow_turn", tag = "Turns",
    params(EventsQuery), responses(TurnEvents, (status = 204, description = "No turn is running.")),
)]
pub(crate) async fn subscribe(
    state: State,
    CurrentUser(user): CurrentUser,
    _permit: StreamPermit,
    uuid: web::Path<Uuid>,
    Query(query): Query<EventsQuery>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let header = request.headers().get("last-event-id").and_then(|value| value.to_str().ok());
    // An ID that no event has counts as absent: the client then gets a snapshot.
    let last: Option<EventId> = header.or(query.after.as_deref()).and_then(|id| id.parse().ok());
    let answer = state.run(|service| async move { service.events(user, *uuid, last).await }).await?;
    Ok(sse::respond(answer, state.keep_alive))
}

/// Resumes the last answer if it was interrupted, was stopped, or failed.
#[utoipa::path(
    post, path = "/api/conversations/{uuid}/continue", operation_id = "continue_turn", tag = "Turns",
    request_body = Option<RetryOptions>, responses(TurnEvents, TurnRefused),
)]
pub(crate) async fn continue_turn(
    state: State,
    CurrentUser(user): CurrentUser,
    _permit: StreamPermit,
    uuid: web::Path<Uuid>,
    again: OptionalBody<RetryOptions>,
) -> Result<HttpResponse, ApiError> {
    let turn = state.run(|service| async move { service.resume_turn(user, *uuid, again.0).await }).await?;
    Ok(sse::respond_turn(turn, state.keep_alive))
}

/// Stops the running turn.
///
/// If the turn waits for approval, its waiting calls are denied. Stopping a turn that has just ended is not an error.
#[utoipa::path(
    post, path = "/api/conversations/{uuid}/stop", operation_id = "stop_turn", tag = "Turns",
    responses((status = 204, description = "The turn is being stopped or has already ended."), Busy),
)]
pub(crate) async fn stop(
    state: State,
    CurrentUser(user): CurrentUser,
    uuid: web::Path<Uuid>,
) -> Result<HttpResponse, ApiError> {
    // It is not an error if the turn has just ended.
    state.run(|service| async move { service.stop(user, *uuid).await }).await?;
    Ok(HttpResponse::NoContent().finish())
}
