//! HTTP handler for `POST /v1/chat`.

use actix_web::{HttpRequest, HttpResponse, http::StatusCode, web::Json};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tallybook_agent::STEP_LIMIT;
use tallybook_conversations::GivenInput;
use utoipa::ToSchema;

use super::{
    super::{
        super::{
            answers::{Busy, ModelFailed, Unknown},
            error::ApiError,
            peer::Peer,
            places::StreamPlace,
            state::State,
        },
        conversation::ParsedConversation,
        error_body::ErrorBody,
        messages,
        refusal::Refusal,
        respond::Answer,
        whole::UsageBody,
        wire::ChatMessage,
    },
    Asked, begin,
    blocks::{self, ThreadChatMessage},
    chunk::{Chunk, StreamChunks},
    read, thread_id,
    whole::{CallBody, WholeThread},
};
use crate::http::caller::Authenticated;

/// What a program asks.
#[derive(Deserialize, ToSchema)]
struct ThreadRequest {
    /// The last is the question. Content is a text, or blocks as Anthropic's Messages API has them.
    #[serde(default)]
    #[schema(required = true, min_items = 1, max_items = 10_000)]
    messages: Vec<ThreadChatMessage>,
    stream: Option<bool>,
    /// The thread to go on in, as an answer named it; else a new one.
    thread_id: Option<String>,
    /// A name of `GET /api/models`; the default when absent.
    model: Option<String>,
}

/// A whole answer, and one that used up its steps.
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

/// An answer with its tool calls, in a thread that the server keeps.
///
/// With `thread_id` the stored conversation is the history, and the `messages` after the last answer are new.
/// An answer that used up its steps is a 500 `step_limit`, with the last word in `message`.
#[utoipa::path(
    post, path = "/v1/chat", operation_id = "chat_in_thread", tag = "Programs", request_body = ThreadRequest,
    responses(
        (status = 200, description = "The answer. As a stream, `data:` lines of chunks, the last of type `done`.",
            content((ThreadAnswer<'static> = "application/json"), (Chunk<'static> = "text/event-stream"))),
        Unknown, Busy, ModelFailed,
    ),
)]
pub(crate) async fn create(
    state: State,
    Authenticated(caller): Authenticated,
    peer: Peer,
    _place: StreamPlace,
    request: HttpRequest,
    body: Json<Box<RawValue>>,
) -> Result<HttpResponse, ApiError> {
    let _served = peer.served();
    let ThreadRequest { messages, stream, thread_id: id, model } = read(&body)?;
    let thread_id = thread_id(id)?;
    let messages = blocks::read(messages)?;
    let asked = match thread_id {
        None => {
            let ParsedConversation { system, history, question, .. } = messages::read_numbered(messages)?;
            let input = GivenInput { messages: history, system, ..GivenInput::default() };
            Asked { thread_id, model, question, input }
        }
        Some(_) => Asked { thread_id, model, question: new_question(messages)?, input: GivenInput::default() },
    };
    let follower = begin(&state, &caller, &request, asked).await?;
    let thread_id = follower.place().0.to_string();
    let answer = Answer::Turn(Box::new(follower));
    if stream == Some(true) {
        return answer.stream(&state, peer, StreamChunks::new(thread_id)).await;
    }
    let mut whole = WholeThread::default();
    let (_, usage) = answer.collect(peer, &mut whole).await?;
    Ok(respond(&whole, UsageBody::of(usage), thread_id))
}

/// Returns the new question in a thread: the user messages after the last answer in the request.
fn new_question(mut messages: Vec<(usize, ChatMessage)>) -> Result<String, Refusal> {
    let is_answer = |(_, message): &(usize, ChatMessage)| matches!(message.role.as_str(), "assistant" | "tool");
    let new = messages.iter().rposition(is_answer).map_or(0, |answer| answer + 1);
    let new = messages.split_off(new);
    if new.iter().any(|(_, message)| message.role != "user") {
        let message = "With thread_id the model is told the stored conversation. Send after its last answer messages of the \
                       role user alone, or leave thread_id out.";
        return Err(Refusal::bad("messages", message));
    }
    Ok(messages::read_numbered(new)?.questions_in_one())
}

/// Returns the response. An answer that used up its steps is an error that contains the agent's last text.
fn respond(whole: &WholeThread, usage: UsageBody, thread_id: String) -> HttpResponse {
    let used_up = whole.stop_reason.as_deref() == Some(STEP_LIMIT);
    let status = if used_up { StatusCode::INTERNAL_SERVER_ERROR } else { StatusCode::OK };
    let words =
        "The agent used up the steps of one answer. Its last word is in message; ask in the thread for the rest.";
    let error = used_up.then(|| ErrorBody::new(status, words.to_owned(), None, Some(STEP_LIMIT.to_owned())));
    let message = Message { role: "assistant", content: &whole.text };
    let mut response = HttpResponse::build(status);
    if used_up {
        response.insert_header(("x-should-retry", "false"));
    }
    response.json(ThreadAnswer { error, message, tool_calls: whole.calls(), usage, thread_id })
}
