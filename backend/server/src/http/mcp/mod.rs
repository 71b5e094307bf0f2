//! Tallybook as a tool server for programs with models of their own: MCP over Streamable HTTP
//! (<https://modelcontextprotocol.io/specification/2026-07-28/basic/transports>), in both eras of the protocol. It has the
//! built-in tools of low risk, and one's history of tool calls to read (`history`). The messages are in `rpc`; there are no
//! sessions and nothing that the server says by itself, so an answer is one JSON body. No turn begins here.

mod history;
mod rpc;
mod tools;

use actix_web::{HttpRequest, HttpResponse, http::Method, web::Json};
use serde_json::{json, value::RawValue};
use tallybook_protocol::Problem;
use utoipa::OpenApi;

use self::rpc::{Answer, Failure, Message, RpcAnswer, RpcMessage};
use super::{error::ApiError, methods::Endpoint, peer::Peer, state::State};
use crate::accounts::Caller;

/// The versions of the protocol that are spoken, of the era in which every request stands for itself, and of those before it.
const NEWER: [&str; 1] = ["2026-07-28"];
const OLDER: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];

/// Its address.
pub(super) fn endpoint() -> Endpoint {
    Endpoint::at("/mcp").on(Method::POST, take)
}

/// What the document of the API says of it.
pub(super) fn document() -> utoipa::openapi::OpenApi {
    #[derive(OpenApi)]
    #[openapi(paths(take))]
    struct Documented;
    Documented::openapi()
}

/// Tallybook as a tool server, by MCP over Streamable HTTP.
///
/// One JSON-RPC message, one JSON answer. What the methods take and give is the protocol's: <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports>.
#[utoipa::path(
    post, path = "/mcp", operation_id = "mcp", tag = "MCP", request_body = RpcMessage<'static>,
    responses((status = 200, body = RpcAnswer), (status = 202, description = "A notification was taken."),
        (status = 400, description = "This is no message that can be answered.",
            content((RpcAnswer = "application/json"), (Problem = "application/problem+json")))),
)]
async fn take(
    state: State,
    caller: Caller,
    peer: Peer,
    request: HttpRequest,
    body: Json<Box<RawValue>>,
) -> Result<HttpResponse, ApiError> {
    let message = match Message::read(body.get()) {
        Ok(message) => message,
        Err(failure) => return Ok(rpc::refuse(None, &failure)),
    };
    let Some(id) = message.id.clone() else {
        // A notification, of which none changes anything here.
        return Ok(HttpResponse::Accepted().finish());
    };
    if let Err(failure) = check_headers(&request, &message.method) {
        return Ok(rpc::refuse(Some(id), &failure));
    }
    let _served = peer.served();
    let answer = answer(&state, caller, &message).await?;
    Ok(rpc::respond(&id, answer))
}

async fn answer(state: &State, caller: Caller, message: &Message<'_>) -> Result<Answer, ApiError> {
    let us = json!({"name": "tallybook", "version": env!("CARGO_PKG_VERSION")});
    let capabilities = json!({"tools": {}});
    Ok(match &*message.method {
        "initialize" => {
            let asked = message.text_param("protocolVersion");
            let version = OLDER.iter().find(|version| asked.as_deref() == Some(**version)).unwrap_or(&OLDER[0]);
            Ok(json!({"protocolVersion": version, "capabilities": capabilities, "serverInfo": us}))
        }
        "server/discover" => Ok(json!({
            "resultType": "complete", "supportedVersions": NEWER, "capabilities": capabilities, "ttlMs": 0,
            "cacheScope": "private", "_meta": {"io.modelcontextprotocol/serverInfo": us},
        })),
        "ping" => Ok(json!({"resultType": "complete"})),
        "tools/list" => Ok(tools::list(&state.service)),
        "tools/call" => tools::call(state, caller, message).await?,
        _ => Err(Failure::no_such_method()),
    })
}

/// What headers say of a message must be true, and of a version that is spoken here.
fn check_headers(request: &HttpRequest, method: &str) -> Result<(), Failure> {
    let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
    if let Some(version) = header("mcp-protocol-version")
        && !NEWER.contains(&version)
        && !OLDER.contains(&version)
    {
        return Err(Failure::unsupported_version(version, &[&NEWER[..], &OLDER[..]].concat()));
    }
    if header("mcp-method").is_some_and(|named| named != method) {
        return Err(Failure::header_mismatch());
    }
    Ok(())
}
