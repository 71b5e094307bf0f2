//! HTTP handlers for approvals: decisions on tool calls, and the saved approvals. API keys can list saved approvals but
//! cannot decide: tool calls wait for a user.

use actix_web::{HttpResponse, web};
use tallybook_conversations::{ConversationService, DecisionAnswer};
use tallybook_protocol::{Approval, ApprovalId, ChatEvent, NewDecision, NewDecisions, Page, ToolCall, ToolCallId};
use uuid::Uuid;

use crate::http::{
    State,
    body::JsonBody,
    caller::{CurrentUser, SessionUser},
    connection_limits::StreamPermit,
    error::ApiError,
    shared_responses::{AlreadyDecided, Invalid},
    sse,
};

/// Decides on a tool call that waits for approval.
///
/// Requires a session of a browser. API keys are refused.
#[utoipa::path(
    post, path = "/api/tool-calls/{tool_call_id}/decision", operation_id = "decide", tag = "Approvals",
    request_body = NewDecision, security(("session" = [])),
    responses(
        (status = 200, description = "The turn's events if no call of the turn waits any longer, otherwise the call.",
            content((ToolCall = "application/json"), (ChatEvent = "text/event-stream"))),
        AlreadyDecided, Invalid,
    ),
)]
pub(crate) async fn decide(
    state: State,
    SessionUser(caller): SessionUser,
    _permit: StreamPermit,
    id: web::Path<ToolCallId>,
    body: JsonBody<NewDecision>,
) -> Result<HttpResponse, ApiError> {
    let (id, new) = (id.into_inner(), body.0);
    let decide = move |service: ConversationService| async move { service.decide(caller.user, id, new).await };
    Ok(match state.run(decide).await? {
        DecisionAnswer::Turn(events) => sse::respond_turn(events, state.keep_alive),
        DecisionAnswer::Calls(calls) => HttpResponse::Ok().json(calls.first()),
    })
}

/// Decides on several tool calls at once. Either all decisions take effect or none.
#[utoipa::path(
    post, path = "/api/conversations/{uuid}/decisions", operation_id = "decide_several", tag = "Approvals",
    request_body = NewDecisions, security(("session" = [])),
    responses(
        (status = 200, description = "The turn's events if no call of the turn waits any longer, otherwise the calls.",
            content((Page<ToolCall> = "application/json"), (ChatEvent = "text/event-stream"))),
        AlreadyDecided, Invalid,
    ),
)]
pub(crate) async fn decide_several(
    state: State,
    SessionUser(caller): SessionUser,
    _permit: StreamPermit,
    uuid: web::Path<Uuid>,
    body: JsonBody<NewDecisions>,
) -> Result<HttpResponse, ApiError> {
    let new = body.0;
    let decide =
        move |service: ConversationService| async move { service.decide_several(caller.user, *uuid, new).await };
    Ok(match state.run(decide).await? {
        DecisionAnswer::Turn(events) => sse::respond_turn(events, state.keep_alive),
        DecisionAnswer::Calls(items) => HttpResponse::Ok().json(Page::<ToolCall> { items, next_cursor: None }),
    })
}

/// Lists your saved approvals.
#[utoipa::path(
    get, path = "/api/approvals", operation_id = "list_approvals", tag = "Approvals",
    responses((status = 200, body = Page<Approval>)),
)]
pub(crate) async fn list(state: State, CurrentUser(user): CurrentUser) -> Result<HttpResponse, ApiError> {
    let items = state.run(move |service| async move { service.list_approvals(user).await }).await?;
    Ok(HttpResponse::Ok().json(Page::<Approval> { items, next_cursor: None }))
}

/// Revokes a saved approval.
#[utoipa::path(
    delete, path = "/api/approvals/{approval_id}", operation_id = "revoke_approval", tag = "Approvals",
    security(("session" = [])), responses((status = 204, description = "Further calls of the tool need approval again.")),
)]
pub(crate) async fn revoke(
    state: State,
    SessionUser(caller): SessionUser,
    id: web::Path<ApprovalId>,
) -> Result<HttpResponse, ApiError> {
    let id = id.into_inner();
    state.run(move |service| async move { service.revoke_approval(caller.user, id).await }).await?;
    Ok(HttpResponse::NoContent().finish())
}
