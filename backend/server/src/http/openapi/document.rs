//! The API document: which operations it contains, and its forms as a value and as text.

use std::sync::LazyLock;

use actix_web::{HttpRequest, HttpResponse};
use serde_json::Value;
use tallybook_protocol::{ChatEvent, Problem};
use utoipa::OpenApi;

use super::finish;
use crate::http::{
    accounts, consent, content_encoding::Text, conversations, export, feed, health, mcp, messages, models, openai,
    search, shares, state::State, tool_calls, tool_history, tools, usage,
};

/// All of it.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Tallybook",
        description = "A web chat whose assistant works with tools, and keeps the book on every call. Nearly all that the page does \
                       a program can do, under `/api`; whatever speaks OpenAI Chat Completions uses the agent as a model, under \
                       `/v1`. `HEAD` works wherever `GET` does. A body has 30 seconds and at most 2 MiB. Every answer has an \
                       `X-Request-Id`, which the server's log has, too.",
        license(name = "MIT", identifier = "MIT"),
        contact(),
    ),
    servers((url = "/")),
    tags(
        (name = "Programs", description = "The agent as a model. Errors are OpenAI's JSON under `/v1`."),
        (name = "Conversations", description = "The conversations themselves. Errors are `application/problem+json`, here and below."),
        (name = "Turns", description = "One message up to the end of its answer, as a stream of events."),
        (name = "Consent", description = "Calls of high risk wait for a person's decision."),
        (name = "Tools", description = "What the assistant can do, and what it did."),
        (name = "Models", description = "Who answers."),
        (name = "Search", description = "Where words stand."),
        (name = "Sharing", description = "Links that show a conversation to whoever has one."),
        (name = "Account", description = "What is one's own: sessions, keys, settings."),
        (name = "People", description = "What admins do about accounts."),
        (name = "MCP", description = "The built-in tools and one's history, for programs with models of their own."),
        (name = "Server", description = "For orchestrators and monitoring."),
    ),
    paths(
        conversations::create, conversations::list, conversations::find, conversations::update, conversations::delete,
        export::download, feed::subscribe,
        messages::create, messages::regenerate, messages::select, messages::playback, messages::subscribe,
        messages::continue_turn, messages::stop, messages::explain,
        consent::decide, consent::decide_several, consent::list, consent::revoke,
        tools::list, tools::find_disabled, tools::set_disabled, tools::switch, tools::accept, tool_calls::find,
        models::list, search::everywhere, search::in_conversation, shares::create, shares::list, shares::revoke,
        usage::of_conversation, usage::of_message,
        health::live, health::ready, health::metrics, show,
    ),
    components(schemas(ChatEvent, Problem)),
)]
struct Documented;

/// The document of a server with accounts, and (`WITHOUT_ACCOUNTS`) of a server on which users do not sign in.
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
        for part in [openai::document(), accounts::document(), tool_history::document(), mcp::document()] {
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
