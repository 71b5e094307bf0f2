//! HTTP handler for `POST /api/chat`: one message, one answer, and a summary of a few lines on what was done.

use actix_web::{HttpRequest, HttpResponse, web::Json};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tallybook_conversations::GivenInput;
use utoipa::ToSchema;

use super::{
    super::{
        super::{
            answers::{Busy, Invalid, ModelFailed, Unknown},
            error::ApiError,
            peer::Peer,
            places::StreamPlace,
            state::State,
        },
        refusal::Refusal,
        respond::Answer,
    },
    Asked, begin, read, thread_id,
    whole::{CallBody, WholeThread},
};
use crate::http::caller::Authenticated;

/// What is asked.
#[derive(Deserialize, ToSchema)]
struct SimpleRequest {
    /// The question.
    #[schema(min_length = 1, max_length = 100_000)]
    message: String,
    /// The thread to go on in, as an answer named it; else a new one.
    thread_id: Option<String>,
}

/// The answer.
#[derive(Serialize, ToSchema)]
struct SimpleAnswer<'a> {
    answer: &'a str,
    tool_calls: Vec<CallBody<'a>>,
    /// At most three lines on what was done and why.
    reasoning_summary: Vec<String>,
    thread_id: String,
}

/// One message, one answer, and what was done for it in a few lines.
#[utoipa::path(
    post, path = "/api/chat", operation_id = "chat", tag = "Programs", request_body = SimpleRequest,
    responses((status = 200, body = SimpleAnswer<'static>), Unknown, Busy, Invalid, ModelFailed),
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
    let SimpleRequest { message, thread_id: id } = read(&body)?;
    if message.trim().is_empty() || message.contains('\0') {
        return Err(Refusal::bad("message", "Send a message with words in it, and without NUL characters.").into());
    }
    let input = GivenInput::question(&message);
    let asked = Asked { thread_id: thread_id(id)?, model: None, question: message, input };
    let follower = begin(&state, &caller, &request, asked).await?;
    let (uuid, message_id) = follower.place();
    let mut whole = WholeThread::default();
    Answer::Turn(Box::new(follower)).collect(peer, &mut whole).await?;
    let user = caller.user;
    let sum_up = move |service: tallybook_conversations::ConversationService| async move {
        service.explain_reasoning(user, uuid, message_id).await
    };
    // The answer is valid even if its summary fails.
    let reasoning_summary = state.run(sum_up).await.unwrap_or_else(|error| {
        tracing::warn!(%error, "an answer has no summary");
        Vec::new()
    });
    let (answer, thread_id) = (whole.text.as_str(), uuid.to_string());
    Ok(HttpResponse::Ok().json(SimpleAnswer { answer, tool_calls: whole.calls(), reasoning_summary, thread_id }))
}
