//! Consent: decisions on tool calls, and the approvals that stand. A program with a key may look, and decides nothing: a call
//! waits for a person.

use actix_web::{HttpResponse, web};
use tallybook_protocol::{Approval, ApprovalId, NewDecision, NewDecisions, Page, ToolCall, ToolCallId};
use uuid::Uuid;

use super::{State, caller::Person, error::ApiError, sse};
use crate::{
    accounts::UserId,
    conversation::{ConversationService, DecisionAnswer},
};

pub(super) async fn decide(
    state: State,
    Person(caller): Person,
    id: web::Path<ToolCallId>,
    body: web::Json<NewDecision>,
) -> Result<HttpResponse, ApiError> {
    let (id, new) = (id.into_inner(), body.into_inner());
    let decide = move |service: ConversationService| async move { service.decide(caller.user, id, new).await };
    Ok(match state.run(decide).await? {
        DecisionAnswer::Turn(events) => sse::respond(events, state.keep_alive),
        DecisionAnswer::Calls(calls) => HttpResponse::Ok().json(calls.first()),
    })
}

pub(super) async fn decide_several(
    state: State,
    Person(caller): Person,
    uuid: web::Path<Uuid>,
    body: web::Json<NewDecisions>,
) -> Result<HttpResponse, ApiError> {
    let new = body.into_inner();
    let decide =
        move |service: ConversationService| async move { service.decide_several(caller.user, *uuid, new).await };
    Ok(match state.run(decide).await? {
        DecisionAnswer::Turn(events) => sse::respond(events, state.keep_alive),
        DecisionAnswer::Calls(items) => HttpResponse::Ok().json(Page::<ToolCall> { items, next_cursor: None }),
    })
}

pub(super) async fn list(state: State, user: UserId) -> Result<HttpResponse, ApiError> {
    let items = state.run(move |service| async move { service.list_approvals(user).await }).await?;
    Ok(HttpResponse::Ok().json(Page::<Approval> { items, next_cursor: None }))
}

pub(super) async fn revoke(
    state: State,
    Person(caller): Person,
    id: web::Path<ApprovalId>,
) -> Result<HttpResponse, ApiError> {
    let id = id.into_inner();
    state.run(move |service| async move { service.revoke_approval(caller.user, id).await }).await?;
    Ok(HttpResponse::NoContent().finish())
}
