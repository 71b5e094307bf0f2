//! HTTP handlers for messages: send, regenerate, explain, select a version, play back, subscribe to events, resume, stop.

use actix_web::{HttpRequest, HttpResponse, web};
use serde::Deserialize;
use tallybook_conversations::{ConversationService, journal::EventId};
use tallybook_protocol::{AnswerAgain, Conversation, MessageId, NewMessage, Playback, ReasoningSummary, Window};
use utoipa::IntoParams;
use uuid::Uuid;

use super::{
    State,
    answers::{Busy, Invalid, ModelFailed, TurnEvents, TurnRefused},
    body::{JsonBody, OptionalBody},
    error::ApiError,
    places::StreamPlace,
    query::Query,
    sse,
};
use crate::http::caller::CurrentUser;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct EventsQuery {
    /// The id of the last event that is known; what is no id of an event is as good as none.
    after: Option<String>,
}

/// Sends a message and streams the answer.
///
/// The turn belongs to the server: it goes on when the reader goes away, and `GET …/events` joins it again.
#[utoipa::path(
    post, path = "/api/conversations/{uuid}/messages", operation_id = "send_message", tag = "Turns",
    request_body = NewMessage, responses(TurnEvents, TurnRefused),
)]
pub(crate) async fn create(
    state: State,
    CurrentUser(user): CurrentUser,
    _place: StreamPlace,
    uuid: web::Path<Uuid>,
    body: JsonBody<NewMessage>,
) -> Result<HttpResponse, ApiError> {
    let new = body.0;
    let answer = state.run(|service| async move { service.send_message(user, *uuid, new).await }).await?;
    Ok(sse::respond(answer, state.keep_alive))
}

/// Writes an answer anew, beside the old one.
#[utoipa::path(
    post, path = "/api/conversations/{uuid}/messages/{message_id}/regenerate", operation_id = "regenerate", tag = "Turns",
    request_body = Option<AnswerAgain>, responses(TurnEvents, TurnRefused),
)]
pub(crate) async fn regenerate(
    state: State,
    CurrentUser(user): CurrentUser,
    _place: StreamPlace,
    path: web::Path<(Uuid, MessageId)>,
    again: OptionalBody<AnswerAgain>,
) -> Result<HttpResponse, ApiError> {
    let ((uuid, id), again) = (path.into_inner(), again.0);
    let regenerate = move |service: ConversationService| async move { service.regenerate(user, uuid, id, again).await };
    let answer = state.run(regenerate).await?;
    Ok(sse::respond(answer, state.keep_alive))
}

/// At most three lines on what was done for an answer and why, which the model is asked for.
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

/// Shows the branch through this message that was written last.
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

/// What happened in an answer that is over, event by event, with times.
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
    // As in `subscribe`, an id that is not an event's counts as none.
    let after = query.after.as_deref().and_then(|id| id.parse().ok());
    let playback = move |service: ConversationService| async move { service.playback(user, uuid, id, after).await };
    Ok(HttpResponse::Ok().json(state.run(playback).await?))
}

/// Joins the turn that runs.
///
/// The header `Last-Event-ID` goes before `after`, as browsers send it.
#[utoipa::path(
    get, path = "/api/conversations/{uuid}/events", operation_id = "follow_turn", tag = "Turns",
    params(EventsQuery), responses(TurnEvents, (status = 204, description = "No turn runs.")),
)]
pub(crate) async fn subscribe(
    state: State,
    CurrentUser(user): CurrentUser,
    _place: StreamPlace,
    uuid: web::Path<Uuid>,
    Query(query): Query<EventsQuery>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let header = request.headers().get("last-event-id").and_then(|value| value.to_str().ok());
    // An id that is not an event's counts as none: the client then gets a snapshot.
    let last: Option<EventId> = header.or(query.after.as_deref()).and_then(|id| id.parse().ok());
    let answer = state.run(|service| async move { service.events(user, *uuid, last).await }).await?;
    Ok(sse::respond(answer, state.keep_alive))
}

/// Has the last answer go on that was interrupted, stopped or failed.
#[utoipa::path(
    post, path = "/api/conversations/{uuid}/continue", operation_id = "continue_turn", tag = "Turns",
    request_body = Option<AnswerAgain>, responses(TurnEvents, TurnRefused),
)]
pub(crate) async fn continue_turn(
    state: State,
    CurrentUser(user): CurrentUser,
    _place: StreamPlace,
    uuid: web::Path<Uuid>,
    again: OptionalBody<AnswerAgain>,
) -> Result<HttpResponse, ApiError> {
    let answer = state.run(|service| async move { service.continue_turn(user, *uuid, again.0).await }).await?;
    Ok(sse::respond(answer, state.keep_alive))
}

/// Stops the turn that runs.
///
/// One that waits for consent is refused it. Stopping what has just ended by itself is no error.
#[utoipa::path(
    post, path = "/api/conversations/{uuid}/stop", operation_id = "stop_turn", tag = "Turns",
    responses((status = 204, description = "It is being stopped, or had ended."), Busy),
)]
pub(crate) async fn stop(
    state: State,
    CurrentUser(user): CurrentUser,
    uuid: web::Path<Uuid>,
) -> Result<HttpResponse, ApiError> {
    // It is not an error if the turn has just ended by itself.
    state.run(|service| async move { service.stop(user, *uuid).await }).await?;
    Ok(HttpResponse::NoContent().finish())
}
