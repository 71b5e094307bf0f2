//! Requests for tools: the available tools, the disabled tools of a conversation, and saved approvals.

use tallybook_protocol::{AcceptTool, Approval, ApprovalId, DisabledTools, Page, ToolList};
use uuid::Uuid;

use super::{
    conversations::conversation_url,
    error::ApiError,
    request::{NO_BODY, call, call_text, encoded, request, take_back},
};
use crate::reading;

/// `GET /api/tools`
pub(crate) async fn list_tools() -> Result<ToolList, ApiError> {
    let json = call_text("GET", "/api/tools", NO_BODY).await?;
    reading::tools(json).await?.map(|list| *list).ok_or(ApiError::Unreadable)
}

/// `GET /api/conversations/{uuid}/tools`
pub(crate) async fn disabled_tools(uuid: Uuid) -> Result<DisabledTools, ApiError> {
    call("GET", &format!("{}/tools", conversation_url(uuid)), NO_BODY).await
}

/// `PUT /api/conversations/{uuid}/tools`
pub(crate) async fn disable_tools(uuid: Uuid, disabled: &DisabledTools) -> Result<DisabledTools, ApiError> {
    call("PUT", &format!("{}/tools", conversation_url(uuid)), Some(disabled)).await
}

/// `POST /api/tool-servers/{server}/tools/{tool}/accept`
pub(crate) async fn accept_tool(server: &str, tool: &str, hash: String) -> Result<(), ApiError> {
    let url = format!("/api/tool-servers/{}/tools/{}/accept", encoded(server), encoded(tool));
    request("POST", &url, Some(&AcceptTool { hash: Some(hash) })).await?.text().await?;
    Ok(())
}

/// `GET /api/approvals`
pub(crate) async fn list_approvals() -> Result<Vec<Approval>, ApiError> {
    let page: Page<Approval> = call("GET", "/api/approvals", NO_BODY).await?;
    Ok(page.items)
}

/// `DELETE /api/approvals/{id}`
pub(crate) async fn revoke_approval(id: ApprovalId) -> Result<(), ApiError> {
    take_back(&format!("/api/approvals/{id}")).await
}
