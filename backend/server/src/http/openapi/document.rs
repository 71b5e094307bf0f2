//! The API document: lists its operations, and holds it as a JSON value and as text.

use std::sync::LazyLock;

use actix_web::{HttpRequest, HttpResponse};
use serde_json::Value;
use tallybook_protocol::{ChatEvent, Problem};
use utoipa::OpenApi;

use super::finish;
use crate::http::{
    accounts, approvals, budgets, content_encoding::Text, conversations, export, feed, files, groups, health, mcp,
    messages, model_settings, models, openai, search, server_settings, shares, state::State, tool_calls, tool_history,
    tool_server_settings, tools, usage,
};

/// The API document.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Tallybook",
        description = "A self-hosted AI chat that records every tool call. API clients can do nearly everything that \
                       the page can, with `/api`. Clients of OpenAI Chat Completions can use the agent as a model, \
                       with `/v1`. `HEAD` works wherever `GET` does. Except for files, a request body can have at most 2 MiB \
                       and must arrive within 30 seconds. Every response has an `X-Request-Id`, which is also in the server's \
                       log.",
        license(name = "MIT", identifier = "MIT"),
        contact(),
    ),
    servers((url = "/")),
    tags(
        (name = "Programs", description = "The agent as a model. Errors under `/v1` have OpenAI's JSON format."),
        (name = "Conversations", description = "Conversations. Errors here and in the following sections are `application/problem+json`."),
        (name = "Files", description = "Files to attach to messages."),
        (name = "Turns", description = "A turn: one message and its answer, as a stream of events."),
        (name = "Approvals", description = "High-risk tool calls wait for a user's decision."),
        (name = "Tools", description = "The available tools, and tool calls."),
        (name = "Models", description = "The available models."),
        (name = "Search", description = "Search in conversations."),
        (name = "Sharing", description = "Share links. Anyone with a link can read its conversation."),
        (name = "Settings", description = "Settings of the server that admins change while it runs, and budgets."),
        (name = "Account", description = "Your own account: sessions, API keys, settings."),
        (name = "People", description = "Account management, for admins."),
        (name = "MCP", description = "The built-in tools and your tool history, for API clients with their own models."),
        (name = "Server", description = "Probes for orchestrators, and metrics."),
    ),
    paths(
        conversations::create, conversations::fork, conversations::list, conversations::find, conversations::update, conversations::delete,
        conversations::delete_all,
        export::download, feed::subscribe,
        files::create, files::find, files::content, files::text, files::delete,
        messages::create, messages::regenerate, messages::select, messages::playback, messages::subscribe,
        messages::continue_turn, messages::stop, messages::explain, messages::set_feedback, messages::delete_feedback,
        approvals::decide, approvals::decide_several, approvals::list, approvals::revoke,
        tools::list, tools::find_disabled, tools::set_disabled, tools::switch, tools::accept, tool_calls::find,
        models::list, search::everywhere, search::in_conversation, shares::create, shares::list, shares::revoke,
        usage::of_conversation, usage::of_message,
        health::live, health::ready, health::metrics, show,
    ),
    components(schemas(ChatEvent, Problem)),
)]
struct Documented;

/// The document of a server with accounts, and (`WITHOUT_ACCOUNTS`) of a server without.
static WITH_ACCOUNTS: LazyLock<Document> = LazyLock::new(|| Document::new(true));
static WITHOUT_ACCOUNTS: LazyLock<Document> = LazyLock::new(|| Document::new(false));

/// The API document, as a value and as text.
pub(crate) struct Document {
    pub(crate) value: Value,
    text: Text,
}

impl Document {
    fn new(has_accounts: bool) -> Self {
        let mut all = Documented::openapi();
        for part in [
            openai::document(),
            accounts::document(),
            model_settings::document(),
            tool_server_settings::document(),
            server_settings::document(),
            budgets::document(),
            groups::document(),
            tool_history::document(),
            mcp::document(),
        ] {
            all.merge(part);
        }
        // Serializing cannot fail, because the document consists of strings and numbers.
        let mut value = serde_json::to_value(all).unwrap_or_default();
        finish::finish(&mut value, has_accounts);
        Self { text: Text::new(value.to_string()), value }
    }

    /// Returns the document of this server.
    pub(crate) fn of(state: &State) -> &'static Self {
        if state.accounts.settings().required { &WITH_ACCOUNTS } else { &WITHOUT_ACCOUNTS }
    }
}

/// This document.
#[utoipa::path(
    get, path = "/openapi.json", operation_id = "find_document", tag = "Server", security(()),
    responses((status = 200, body = Object)),
)]
pub(crate) async fn show(state: State, request: HttpRequest) -> HttpResponse {
    Document::of(&state).text.answer(&request, "application/json")
}
