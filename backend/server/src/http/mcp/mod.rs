//! Tallybook as an MCP server over Streamable HTTP
//! (<https://modelcontextprotocol.io/specification/2026-07-28/basic/transports>), for clients that have models of their
//! own. It supports both eras of the protocol (`envelope`), and offers the built-in low-risk tools and tools that read
//! the tool history (`history`). `rpc` has the messages. The server keeps no sessions and sends no messages of its own,
//! so each response is one JSON body. Calls do not start turns.

mod envelope;
mod history;
mod rpc;
mod tools;

use actix_web::{Error, HttpRequest, HttpResponse, http::Method, web::Json};
use serde_json::{json, value::RawValue};
use tallybook_accounts::Caller;
use tallybook_protocol::Problem;
use utoipa::OpenApi;

use self::rpc::{Answer, Failure, Message, RpcAnswer, RpcMessage};
use super::{error::ApiError, methods::Endpoint, peer::Peer, state::State};
use crate::http::caller::Authenticated;
use crate::http::mcp::rpc::{Era, NEWER, OLDER};

/// Returns the route.
pub(crate) fn endpoint() -> Endpoint {
    Endpoint::at("/mcp").on(Method::POST, take)
}

/// Returns the API description of this route.
pub(crate) fn document() -> utoipa::openapi::OpenApi {
    #[derive(OpenApi)]
    #[openapi(paths(take))]
    struct Documented;
    Documented::openapi()
}

/// Tallybook as a tool server (MCP over Streamable HTTP).
///
/// A request is one JSON-RPC message, and the response is one JSON body. The MCP specification defines the methods:
/// <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports>.
#[utoipa::path(
    post, path = "/mcp", operation_id = "mcp", tag = "MCP", request_body = RpcMessage<'static>,
    responses((status = 200, body = RpcAnswer), (status = 202, description = "The notification was accepted."),
        (status = 400, description = "The message is not valid.",
            content((RpcAnswer = "application/json"), (Problem = "application/problem+json"))),
        (status = 404, description = "The method is not supported.", body = RpcAnswer)),
)]
async fn take(
    state: State,
    Authenticated(caller): Authenticated,
    peer: Peer,
    request: HttpRequest,
    body: Result<Json<Box<RawValue>>, Error>,
) -> Result<HttpResponse, Error> {
    let body = match body {
        Err(error) if matches!(error.as_error(), Some(ApiError::Body(_))) => {
            return Ok(rpc::refuse(None, &Failure::no_json()));
        }
        body => body?,
    };
    let message = match Message::read(body.get()) {
        Ok(message) => message,
        Err(failure) => return Ok(rpc::refuse(None, &failure)),
    };
    let Some(id) = message.id.clone() else {
        // A notification. Notifications change nothing here.
        return Ok(HttpResponse::Accepted().finish());
    };
    let era = match envelope::era_of(request.headers(), &message) {
        Ok(era) => era,
        Err(failure) => return Ok(rpc::refuse(Some(id), &failure)),
    };
    let _served = peer.served();
    let answer = answer(&state, caller, &message, era).await?;
    Ok(rpc::respond(&id, answer, era))
}

async fn answer(state: &State, caller: Caller, message: &Message<'_>, era: Era) -> Result<Answer, ApiError> {
    let us = json!({"name": "tallybook", "version": env!("CARGO_PKG_VERSION")});
    let capabilities = json!({"tools": {}});
    Ok(match (&*message.method, era) {
        ("tools/list", _) => Ok(tools::list(&state.service)),
        ("tools/call", _) => tools::call(state, caller, message).await?,
        ("initialize", Era::Older) => {
            let asked = message.text_param("protocolVersion");
            let version = OLDER.iter().find(|version| asked.as_deref() == Some(**version)).unwrap_or(&OLDER[0]);
            Ok(json!({"protocolVersion": version, "capabilities": capabilities, "serverInfo": us}))
        }
        ("ping", Era::Older) => Ok(json!({})),
        ("server/discover", Era::Newer) => Ok(json!({
            "resultType": "complete", "supportedVersions": NEWER, "capabilities": capabilities, "ttlMs": 0,
            "cacheScope": "private", "_meta": {"io.modelcontextprotocol/serverInfo": us},
        })),
        _ => Err(Failure::no_such_method()),
    })
}
