//! HTTP handlers for clients that keep no history: `POST /v1/chat` and `POST /api/chat`.
//!
//! `/api/chat` takes one message, and returns one answer with a short explanation. `/v1/chat` answers with one
//! response, or with a stream of chunks in Tallybook's own format (`chunk`), and takes content as blocks (`blocks`). A
//! thread is a conversation, named by its UUID. Turns are the same as in the web UI.

mod blocks;
mod chunk;

use actix_web::{
    HttpRequest, HttpResponse,
    http::StatusCode,
    web::{Json, Payload},
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tallybook_agent::STEP_LIMIT;
use tallybook_conversations::{ApiClientRequest, ClientInput};
use tallybook_protocol::MessagePart;
use utoipa::{OpenApi, ToSchema};
use uuid::Uuid;

use crate::http::{
    caller::Authenticated,
    connection_limits::StreamPermit,
    error::ApiError,
    openai::{
        attachments,
        chunk::UsageBody,
        conversation::ParsedConversation,
        error::{ErrorBody, Refusal},
        follow::Follower,
        parse::parse_messages,
        request::{ChatMessage, parse_body},
        run::{Answer, api_client_of, follow_turn},
        thread::{
            blocks::ThreadChatMessage,
            chunk::{CallBody, Chunk, StreamChunks, WholeThread},
        },
    },
    peer::Peer,
    shared_responses::{Busy, Invalid, ModelFailed, Unknown},
    state::{AppState, State},
};

/// Returns the API description of these routes.
pub(crate) fn document() -> utoipa::openapi::OpenApi {
    #[derive(OpenApi)]
    #[openapi(paths(create_v1, create_simple))]
    struct Documented;
    Documented::openapi()
}

/// Starts the turn that answers in a new or an existing thread, and follows it.
async fn start(
    state: &AppState,
    request: &HttpRequest,
    thread_id: Option<Uuid>,
    new: ApiClientRequest,
) -> Result<Follower, ApiError> {
    let user = new.api_client.user;
    if let Some(uuid) = thread_id {
        let follow = follow_turn(state, request, user, move |service| async move {
            service.answer_in_thread(user, uuid, new.model.as_deref(), new.question).await
        });
        return follow.await;
    }
    follow_turn(state, request, user, |service| async move { service.start_thread(new).await }).await
}

/// Parses a thread's id. Returns `None` if the id is absent, and `NotFound` if it is malformed.
fn thread_id(id: Option<String>) -> Result<Option<Uuid>, ApiError> {
    use tallybook_conversations::ServiceError::NotFound;
    id.filter(|id| !id.is_empty()).map(|id| id.parse().map_err(|_| NotFound.into())).transpose()
}

/// Parses a body. The error names the field that cannot be read.
fn read<'a, T: serde::Deserialize<'a>>(body: &'a RawValue) -> Result<T, Refusal> {
    parse_body(body.get(), "chat request")
}

/// A question.
#[derive(Deserialize, ToSchema)]
struct SimpleRequest {
    /// The question.
    #[schema(min_length = 1, max_length = 100_000)]
    message: String,
    /// The thread to continue, from an earlier answer. Absent: a new thread.
    thread_id: Option<String>,
}

/// The answer.
#[derive(Serialize, ToSchema)]
struct SimpleAnswer<'a> {
    answer: &'a str,
    tool_calls: Vec<CallBody<'a>>,
    /// At most three lines that explain the answer.
    reasoning_summary: Vec<String>,
    thread_id: String,
}

/// Answers one message, and explains the answer in a few lines.
#[utoipa::path(
    post, path = "/api/chat", operation_id = "chat", tag = "Programs", request_body = SimpleRequest,
    responses((status = 200, body = SimpleAnswer<'static>), Unknown, Busy, Invalid, ModelFailed),
)]
pub(crate) async fn create_simple(
    state: State,
    Authenticated(caller): Authenticated,
    peer: Peer,
    _permit: StreamPermit,
    request: HttpRequest,
    body: Json<Box<RawValue>>,
) -> Result<HttpResponse, ApiError> {
    let _served = peer.served();
    let SimpleRequest { message, thread_id: id } = read(&body)?;
    if message.trim().is_empty() || message.contains('\0') {
        return Err(Refusal::bad("message", "The message is empty or contains a NUL character. Send text.").into());
    }
    let input = ClientInput::question(&message);
    let question = vec![MessagePart::Text { text: message }];
    let new = ApiClientRequest::new(api_client_of(&caller), None, question, input);
    let follower = start(&state, &request, thread_id(id)?, new).await?;
    let (uuid, message_id) = (follower.conversation(), follower.message_id());
    let mut whole = WholeThread::default();
    Answer::of_turn(follower).collect(peer, &mut whole).await?;
    let user = caller.user;
    let explain = move |service: tallybook_conversations::ConversationService| async move {
        service.explain_reasoning(user, uuid, message_id).await
    };
    // The answer is valid even if its summary fails.
    let reasoning_summary = state.run(explain).await.unwrap_or_else(|error| {
        tracing::warn!(%error, "an answer could not be explained");
        Vec::new()
    });
    let (answer, thread_id) = (whole.text.as_str(), uuid.to_string());
    Ok(HttpResponse::Ok().json(SimpleAnswer { answer, tool_calls: whole.calls(), reasoning_summary, thread_id }))
}

/// A request in a thread.
#[derive(Deserialize, ToSchema)]
struct ThreadRequest {
    /// The last message is the question. Content is a text, or blocks as Anthropic's Messages API has them. Images
    /// and files can be in either form, as base64.
    #[serde(default)]
    #[schema(required = true, min_items = 1, max_items = 10_000)]
    messages: Vec<ThreadChatMessage>,
    stream: Option<bool>,
    /// The thread to continue, from an earlier answer. Absent: a new thread.
    thread_id: Option<String>,
    /// Name of a model in `GET /api/models`. Absent: the default model.
    model: Option<String>,
}

/// An answer, also one that reached its step limit.
#[derive(Serialize, ToSchema)]
struct ThreadAnswer<'a> {
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    error: Option<ErrorBody>,
    message: Message<'a>,
    tool_calls: Vec<CallBody<'a>>,
    usage: UsageBody,
    thread_id: String,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ThreadMessage)]
struct Message<'a> {
    role: &'static str,
    content: &'a str,
}

/// Answers in a thread that the server stores, and returns the tool calls.
///
/// With `thread_id`, the stored conversation is the history, and only the `messages` after the last answer are new.
/// An answer that reached its step limit returns 500 `step_limit`, with the last text in `message`.
#[utoipa::path(
    post, path = "/v1/chat", operation_id = "chat_in_thread", tag = "Programs", request_body = ThreadRequest,
    responses(
        (status = 200, description = "The answer. A stream consists of `data:` lines with chunks. The last chunk has the type `done`.",
            content((ThreadAnswer<'static> = "application/json"), (Chunk<'static> = "text/event-stream"))),
        Unknown, Busy, ModelFailed,
    ),
)]
pub(crate) async fn create_v1(
    state: State,
    Authenticated(caller): Authenticated,
    peer: Peer,
    _permit: StreamPermit,
    request: HttpRequest,
    payload: Payload,
) -> Result<HttpResponse, ApiError> {
    let _served = peer.served();
    let body = state.large_bodies.read(&request, payload).await?;
    let ThreadRequest { messages, stream, thread_id: id, model } = read(body.json()?)?;
    let thread_id = thread_id(id)?;
    let messages = blocks::read(messages)?;
    let (question, input, attachments) = if thread_id.is_none() {
        let ParsedConversation { question, input, attachments, .. } = parse_messages(messages)?;
        (question, input, attachments)
    } else {
        let parsed = new_question(messages)?;
        (parsed.questions_in_one(), ClientInput::default(), parsed.attachments)
    };
    let mut new = ApiClientRequest::new(api_client_of(&caller), model, question, input);
    attachments::store(&state, body, attachments, &mut new).await?;
    let follower = start(&state, &request, thread_id, new).await?;
    let thread_id = follower.conversation().to_string();
    let answer = Answer::of_turn(follower);
    if stream == Some(true) {
        return answer.stream(&state, peer, StreamChunks::new(thread_id)).await;
    }
    let mut whole = WholeThread::default();
    let (_, usage) = answer.collect(peer, &mut whole).await?;
    Ok(respond(&whole, UsageBody::of(usage), thread_id))
}

/// Returns the new question in a thread: the user messages after the last answer in the request.
fn new_question(mut messages: Vec<(usize, ChatMessage)>) -> Result<ParsedConversation, Refusal> {
    let is_answer = |(_, message): &(usize, ChatMessage)| matches!(message.role.as_str(), "assistant" | "tool");
    let new = messages.iter().rposition(is_answer).map_or(0, |answer| answer + 1);
    let new = messages.split_off(new);
    if new.iter().any(|(_, message)| message.role != "user") {
        let message = "With thread_id, the stored conversation is the history. After the last answer, send only messages of the role \
                       user, or leave thread_id out.";
        return Err(Refusal::bad("messages", message));
    }
    parse_messages(new)
}

/// Returns the response. If the answer used up its steps, returns an error that contains the agent's last text.
fn respond(whole: &WholeThread, usage: UsageBody, thread_id: String) -> HttpResponse {
    let used_up = whole.stop_reason.as_deref() == Some(STEP_LIMIT);
    let status = if used_up { StatusCode::INTERNAL_SERVER_ERROR } else { StatusCode::OK };
    let text = "The answer reached its step limit. The last text is in message; send another message in the thread to continue.";
    let error = used_up.then(|| ErrorBody::new(status, text.to_owned(), None, Some(STEP_LIMIT.to_owned())));
    let message = Message { role: "assistant", content: &whole.text };
    let mut response = HttpResponse::build(status);
    if used_up {
        response.insert_header(("x-should-retry", "false"));
    }
    response.json(ThreadAnswer { error, message, tool_calls: whole.calls(), usage, thread_id })
}
