//! Requests for conversations: lists, search, changes, export, usage, and share links.

use tallybook_protocol::{
    Conversation, ConversationSummary, DeletedConversations, MessageId, NewConversation, NewFork, NewShare, Page,
    PurposeUsage, SearchPage, Share, ShareId, UpdateConversation, UsageByPurpose, Window,
};
use uuid::Uuid;

use super::{
    error::ApiError,
    request::{NO_BODY, call, call_text, page, request, take_back},
};
use crate::reading;

/// Returns the address of a conversation.
pub(crate) fn conversation_url(uuid: Uuid) -> String {
    format!("/api/conversations/{uuid}")
}

/// Returns the address of a conversation's export in this format.
pub(crate) fn export_url(uuid: Uuid, format: &str) -> String {
    format!("{}/export?format={format}", conversation_url(uuid))
}

/// `PATCH /api/conversations/{uuid}`
pub(crate) async fn update_conversation(uuid: Uuid, to: &UpdateConversation) -> Result<(), ApiError> {
    let _: ConversationSummary = call("PATCH", &conversation_url(uuid), Some(to)).await?;
    Ok(())
}

/// `PATCH /api/conversations/{uuid}`: sets the model; `None` is the server's default.
pub(crate) async fn choose_model(uuid: Uuid, model: Option<String>) -> Result<(), ApiError> {
    let update = UpdateConversation { model: Some(model), ..UpdateConversation::default() };
    let _: ConversationSummary = call("PATCH", &conversation_url(uuid), Some(&update)).await?;
    Ok(())
}

/// `DELETE /api/conversations/{uuid}`
pub(crate) async fn delete_conversation(uuid: Uuid) -> Result<(), ApiError> {
    request("DELETE", &conversation_url(uuid), NO_BODY).await?.text().await?;
    Ok(())
}

/// `DELETE /api/conversations`: deletes all conversations.
pub(crate) async fn delete_all_conversations() -> Result<DeletedConversations, ApiError> {
    call("DELETE", "/api/conversations", NO_BODY).await
}

/// `POST /api/conversations`
pub(crate) async fn create_conversation(
    model: Option<String>,
    disabled_tools: Vec<String>,
) -> Result<ConversationSummary, ApiError> {
    let new = NewConversation { model, disabled_tools, ..NewConversation::default() };
    call("POST", "/api/conversations", Some(&new)).await
}

/// `POST /api/conversations/{uuid}/fork`
pub(crate) async fn fork(uuid: Uuid, new: &NewFork) -> Result<ConversationSummary, ApiError> {
    call("POST", &format!("{}/fork", conversation_url(uuid)), Some(new)).await
}

/// A list of conversations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listed<'a> {
    /// All conversations that are not archived.
    Newest,
    /// All pinned conversations. Their maximum number fits on one page.
    Pinned,
    Archived,
    /// Conversations with these words in their titles.
    Matching(&'a str),
}

/// `GET /api/conversations`: a page of a list, after `cursor`.
pub(crate) async fn list_conversations(
    listed: Listed<'_>,
    cursor: Option<&str>,
) -> Result<Page<ConversationSummary>, ApiError> {
    match listed {
        Listed::Newest => page("/api/conversations?q=", "", cursor).await,
        Listed::Pinned => page("/api/conversations?pinned=true&limit=100", "", cursor).await,
        Listed::Archived => page("/api/conversations?archived=true", "", cursor).await,
        Listed::Matching(words) => page("/api/conversations?q=", words, cursor).await,
    }
}

/// `GET /api/search`, or `GET /api/conversations/{uuid}/search` for one conversation: a page of matches, after
/// `cursor`.
pub(crate) async fn search(
    conversation: Option<Uuid>,
    query: &str,
    cursor: Option<&str>,
) -> Result<SearchPage, ApiError> {
    let place = conversation.map_or_else(|| "/api".to_owned(), conversation_url);
    page(&format!("{place}/search?query="), query, cursor).await
}

fn query_of(window: Window) -> String {
    let Window { limit, before, from } = window;
    let id = |id: Option<MessageId>| id.map(|MessageId(id)| id);
    let fields = [("limit", limit.map(i64::from)), ("before", id(before)), ("from", id(from))];
    let fields = fields.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", value?)));
    fields.collect::<Vec<_>>().join("&")
}

/// `GET /api/conversations/{uuid}`
pub(crate) async fn find_conversation(uuid: Uuid, window: Window) -> Result<Option<Conversation>, ApiError> {
    match call_text("GET", &format!("{}?{}", conversation_url(uuid), query_of(window)), NO_BODY).await {
        Ok(json) => read_conversation(json).await.map(Some),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// `POST /api/conversations/{uuid}/messages/{id}/select`
pub(crate) async fn select_message(uuid: Uuid, id: MessageId, window: Window) -> Result<Conversation, ApiError> {
    let query = query_of(window);
    let url = format!("/api/conversations/{uuid}/messages/{id}/select?{query}");
    read_conversation(call_text("POST", &url, NO_BODY).await?).await
}

async fn read_conversation(json: String) -> Result<Conversation, ApiError> {
    reading::conversation(json).await?.map(|conversation| *conversation).ok_or(ApiError::Unreadable)
}

/// `GET /api/conversations/{uuid}/usage`, or `GET /api/conversations/{uuid}/messages/{id}/usage` for one answer
pub(crate) async fn find_usage(uuid: Uuid, message: Option<MessageId>) -> Result<Vec<PurposeUsage>, ApiError> {
    let of_message = message.map(|id| format!("/messages/{id}")).unwrap_or_default();
    let url = format!("{}{of_message}/usage", conversation_url(uuid));
    call("GET", &url, NO_BODY).await.map(|UsageByPurpose { items }| items)
}

/// `POST /api/conversations/{uuid}/shares`
pub(crate) async fn share(uuid: Uuid, new: &NewShare) -> Result<Share, ApiError> {
    call("POST", &format!("{}/shares", conversation_url(uuid)), Some(new)).await
}

/// `GET /api/shares`
pub(crate) async fn list_shares() -> Result<Vec<Share>, ApiError> {
    let page: Page<Share> = call("GET", "/api/shares", NO_BODY).await?;
    Ok(page.items)
}

/// `DELETE /api/shares/{id}`
pub(crate) async fn revoke_share(id: ShareId) -> Result<(), ApiError> {
    take_back(&format!("/api/shares/{id}")).await
}
