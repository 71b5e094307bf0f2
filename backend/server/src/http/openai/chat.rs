//! `POST /v1/chat/completions`: a turn, or a model that is asked once, answered as a stream or whole.

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{HeaderName, HeaderValue},
    web::Json,
};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::{
    super::{
        answers::{ModelFailed, Unknown},
        cookie,
        error::ApiError,
        guard,
        peer::Peer,
        state::{AppState, State},
    },
    ask::{self, Asked},
    chunk::{Chunk, Chunks},
    follow::{BegunTurn, Follower},
    plain::PlainAnswer,
    refusal::Refusal,
    respond::Answer,
    sink::Progress,
    whole::{Completion, WholeAnswer},
    wire::ChatRequest,
};
use crate::{
    accounts::{Caller, Credential, UserId},
    conversation::{ConversationService, Program, ProgramRequest, ProgramTurn, ServiceError},
    db::now,
};

/// Says in which conversation an answer is stored.
const CONVERSATION: HeaderName = HeaderName::from_static("x-tallybook-conversation");

/// An answer that has begun.
struct Answering {
    answer: Answer,
    id: String,
    /// Where it is stored.
    conversation: Option<Uuid>,
}

/// An answer, whole or as a stream, in the format of OpenAI Chat Completions.
///
/// The tools run here and are not shown as calls. The question and the answer are kept as a conversation.
#[utoipa::path(
    post, path = "/v1/chat/completions", operation_id = "create_chat_completion", tag = "Programs",
    request_body = ChatRequest,
    params(
        ("X-Tallybook-Conversation" = Option<String>, Header, max_length = 200,
            description = "The conversation to go on in, by its UUID or an id of the program's own; else a new one."),
        ("X-OpenWebUI-Chat-Id" = Option<String>, Header, max_length = 200, description = "The same, as Open WebUI says it."),
        ("X-Tallybook-Task" = Option<String>, Header, description = "Not empty: the model is asked once, and nothing is kept."),
        ("X-Tallybook-Tools" = Option<String>, Header, description = "`events`: the stream tells of the tools' calls."),
    ),
    responses(
        (status = 200, description = "The answer. As a stream, `data:` lines with chunks and, last, `[DONE]`.",
            content((Completion<'static> = "application/json"), (Chunk<'static> = "text/event-stream")),
            headers(("X-Tallybook-Conversation" = Uuid, description = "Where the answer is stored."))),
        Unknown, ModelFailed,
    ),
)]
pub(super) async fn create(
    state: State,
    caller: Caller,
    peer: Peer,
    request: HttpRequest,
    body: Json<Box<RawValue>>,
) -> Result<HttpResponse, ApiError> {
    let mut asked = ask::read(body.get(), request.headers(), state.service.models())?;
    let answering = if asked.is_plain {
        ask_plainly(&state, &caller, &mut asked).await?
    } else {
        begin(&state, &caller, &request, &mut asked).await?
    };
    let conversation = answering.conversation;
    let mut response = match asked.stream {
        Some(wish) => {
            let chunks = Chunks::new(&answering.id, now().timestamp(), &asked.name, wish);
            answering.answer.stream(&state, peer, chunks).await?
        }
        None => whole(peer, answering, &asked.name).await?,
    };
    if let Some(value) = conversation.and_then(|uuid| HeaderValue::from_str(&uuid.to_string()).ok()) {
        response.headers_mut().insert(CONVERSATION, value);
    }
    Ok(response)
}

async fn ask_plainly(state: &AppState, caller: &Caller, asked: &mut Asked) -> Result<Answering, ApiError> {
    let (user, model, input) = (caller.user, asked.model.clone(), std::mem::take(&mut asked.input));
    let ask =
        move |service: ConversationService| async move { service.ask_plainly(user, model.as_deref(), input).await };
    let events = state.run(ask).await?;
    let id = format!("chatcmpl-{}", Uuid::new_v4().simple());
    Ok(Answering { answer: Answer::Plain(PlainAnswer::new(events)), id, conversation: None })
}

async fn begin(
    state: &AppState,
    caller: &Caller,
    request: &HttpRequest,
    asked: &mut Asked,
) -> Result<Answering, ApiError> {
    let user = caller.user;
    let new = ProgramRequest {
        program: program_of(caller),
        chat_id: asked.chat_id.take(),
        model: asked.model.clone(),
        question: std::mem::take(&mut asked.question),
        input: std::mem::take(&mut asked.input),
    };
    let follower = follow(state, request, user, |service| async move { service.answer_program(new).await }).await?;
    let (conversation, message_id) = follower.place();
    let id = format!("chatcmpl-{message_id}");
    Ok(Answering { answer: Answer::Turn(Box::new(follower)), id, conversation: Some(conversation) })
}

/// Which program asks, as far as its conversations are its own.
pub(super) fn program_of(caller: &Caller) -> Program {
    let key_id = if let Credential::Key(id) = caller.credential { id } else { 0 };
    Program { user: caller.user, key_id }
}

/// Begins a turn and follows it.
pub(super) async fn follow<F, W>(
    state: &AppState,
    request: &HttpRequest,
    user: UserId,
    begin: F,
) -> Result<Follower, ApiError>
where
    F: FnOnce(ConversationService) -> W + Send + 'static,
    W: Future<Output = Result<ProgramTurn, ServiceError>> + Send + 'static,
{
    // Whoever goes away meanwhile drops what comes of it, which stops the turn.
    let begin = move |service: ConversationService| async move {
        let turn = begin(service.clone()).await?;
        Ok(BegunTurn::new(service, user, turn))
    };
    let turn = state.run(begin).await?;
    let link = link(request, turn.place().0);
    Ok(Follower::new(turn, link, state.limits.approval_wait, state.runtime.clone()))
}

/// Where a person finds the conversation, by the name that the program asked for. Elsewhere than on this machine, browsers
/// are let in by https alone.
fn link(request: &HttpRequest, conversation: Uuid) -> String {
    let path = format!("/c/{conversation}");
    match guard::asked(request.headers()) {
        Ok(Some(host)) => {
            let scheme = if cookie::is_on_this_machine(request) { "http" } else { "https" };
            format!("{scheme}://{host}{path}")
        }
        _ => path,
    }
}

async fn whole(peer: Peer, answering: Answering, model: &str) -> Result<HttpResponse, ApiError> {
    let Answering { answer, id, conversation } = answering;
    let mut text = WholeAnswer::default();
    match answer.collect(peer, &mut text).await {
        Progress::Ended { finish, usage } => {
            let body = Completion::new(&id, now().timestamp(), model, &text, finish, usage);
            Ok(HttpResponse::Ok().json(body))
        }
        Progress::Failed(refusal) => Err(Refusal { is_stored: conversation.is_some(), ..refusal }.into()),
        Progress::More => Err(Refusal::broken_off().into()),
    }
}
