//! HTTP handlers for tools: list the tools and the status of the tool servers, turn tools off in a conversation, and
//! accept changed definitions.

use actix_web::{HttpResponse, web, web::Json};
use tallybook_accounts::{Credential, UserPermissions};
use tallybook_conversations::{ConversationService, may_use};
use tallybook_mcp::ChangedDefinition;
use tallybook_protocol::{
    AcceptTool, ChangedTool, DisabledTools, LeftOutTool, ToolInfo, ToolList, ToolServerInfo, ToolSwitches, UserRole,
};
use tallybook_runtime_settings::RuntimeSettings;
use uuid::Uuid;

use super::{
    body::{JsonBody, OptionalBody},
    caller::Admin,
    error::ApiError,
    shared_responses::{Invalid, ToolChanged, Unknown},
    state::State,
};
use crate::http::caller::{Authenticated, CurrentUser};

/// Lists the available tools and the status of the tool servers.
///
/// Admins get the full error of a failed server. Other users get an error without internal addresses.
#[utoipa::path(
    get, path = "/api/tools", operation_id = "list_tools", tag = "Tools", responses((status = 200, body = ToolList)),
)]
pub(crate) async fn list(state: State, Authenticated(caller): Authenticated) -> Result<Json<ToolList>, ApiError> {
    let can_accept = caller.role == UserRole::Admin && !matches!(caller.credential, Credential::Key(_));
    let permissions = state.service.permissions_of(caller.user).await?;
    Ok(Json(ToolList { can_accept, ..all(&state.service, &permissions, caller.role) }))
}

/// Lists the tools that are turned off in a conversation.
#[utoipa::path(
    get, path = "/api/conversations/{uuid}/tools", operation_id = "find_disabled_tools", tag = "Tools",
    responses((status = 200, body = DisabledTools)),
)]
pub(crate) async fn find_disabled(
    state: State,
    CurrentUser(user): CurrentUser,
    uuid: web::Path<Uuid>,
) -> Result<Json<DisabledTools>, ApiError> {
    let find = move |service: ConversationService| async move { service.disabled_tools(user, *uuid).await };
    Ok(Json(state.run(find).await?))
}

/// Turns these tools off in a conversation, and all other tools on.
#[utoipa::path(
    put, path = "/api/conversations/{uuid}/tools", operation_id = "set_disabled_tools", tag = "Tools",
    request_body = DisabledTools, responses((status = 200, body = DisabledTools), Invalid),
)]
pub(crate) async fn set_disabled(
    state: State,
    CurrentUser(user): CurrentUser,
    uuid: web::Path<Uuid>,
    body: JsonBody<DisabledTools>,
) -> Result<Json<DisabledTools>, ApiError> {
    let new = body.0;
    let set = move |service: ConversationService| async move { service.set_disabled_tools(user, *uuid, new).await };
    Ok(Json(state.run(set).await?))
}

/// Turns individual tools on or off in a conversation.
#[utoipa::path(
    post, path = "/api/tools/settings", operation_id = "switch_tools", tag = "Tools",
    request_body = ToolSwitches, responses((status = 200, body = DisabledTools), Unknown, Invalid),
)]
pub(crate) async fn switch(
    state: State,
    CurrentUser(user): CurrentUser,
    body: JsonBody<ToolSwitches>,
) -> Result<Json<DisabledTools>, ApiError> {
    let switches = body.0;
    let switch = move |service: ConversationService| async move { service.switch_tools(user, switches).await };
    Ok(Json(state.run(switch).await?))
}

/// Accepts the current definition of a changed tool.
///
/// For admins.
#[utoipa::path(
    post, path = "/api/tool-servers/{server}/tools/{tool}/accept", operation_id = "accept_tool", tag = "Tools",
    request_body = Option<AcceptTool>, security(("session" = [])),
    responses((status = 204, description = "The current definition is accepted."), ToolChanged),
)]
pub(crate) async fn accept(
    state: State,
    admin: Admin,
    path: web::Path<(String, String)>,
    accepted: OptionalBody<AcceptTool>,
) -> Result<HttpResponse, ApiError> {
    let ((server, tool), AcceptTool { hash }) = (path.into_inner(), accepted.0);
    let admin = admin.0.user;
    let accept = move |service: ConversationService| async move {
        service.accept_tool(admin, &server, &tool, hash.as_deref()).await
    };
    state.run(accept).await?;
    let announce = |settings: RuntimeSettings| async move { settings.announce_accepted_definitions().await };
    if let Err(error) = state.run_settings(announce).await {
        // The definition is accepted, and the other servers learn of it when they list the tools again.
        tracing::warn!(%error, "cannot announce an accepted tool definition to the other servers");
    }
    Ok(HttpResponse::NoContent().finish())
}

/// Returns the tools that a user with these permissions may use, and the status of their servers. Only admins see
/// errors with internal addresses. The right to accept definitions is left out.
pub(crate) fn all(service: &ConversationService, permissions: &UserPermissions, role: UserRole) -> ToolList {
    let mut reports = service.tool_server_reports();
    reports.retain(|report| permissions.allows_tool_server(&report.name));
    let specs = service.tool_servers().tools().specs();
    let items = specs.iter().filter(|spec| may_use(permissions, spec)).map(|spec| ToolInfo {
        name: spec.name.clone(),
        description: spec.description.clone(),
        input_schema: spec.input_schema.clone(),
        server: spec.server.as_deref().map(str::to_owned),
        risk: spec.risk.as_str().to_owned(),
        idempotent: spec.idempotent,
        enabled: true,
        changed: reports.iter().find_map(|report| report.changed.get(&spec.name)).cloned().map(changed_tool),
    });
    let items = items.collect();
    let servers = reports.into_iter().map(|report| ToolServerInfo {
        name: report.name.to_string(),
        status: report.status.as_str().to_owned(),
        error: if role == UserRole::Admin { report.error } else { report.plain_error },
        tools: u64::try_from(report.tools).unwrap_or(u64::MAX),
        left_out: report
            .left_out
            .into_iter()
            .map(|tool| LeftOutTool { name: tool.name, reason: tool.reason, changed: tool.changed.map(changed_tool) })
            .collect(),
    });
    ToolList { items, servers: servers.collect(), can_accept: false }
}

fn changed_tool(definition: ChangedDefinition) -> ChangedTool {
    let ChangedDefinition { tool, hash, description } = definition;
    ChangedTool { tool, hash, description }
}
