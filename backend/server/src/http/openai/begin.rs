//! Starts the answer to an API client: a turn that the response follows, or a direct model call. Each API writes its own
//! response.

use actix_web::{HttpRequest, HttpResponse, http::header::HeaderValue};
use chrono::{DateTime, Utc};
use tallybook_accounts::{Caller, Credential, UserId};
use tallybook_conversations::{ConversationService, Program, ProgramRequest, ServiceError, StartedTurn, Weight};
use tallybook_database::now;
use uuid::Uuid;

use super::{
    super::{error::ApiError, origin, state::AppState},
    ask::Asked,
    follow::{BegunTurn, Follower},
    plain::PlainAnswer,
    refusal::CONVERSATION,
    respond::Answer,
};

/// An answer that has started.
pub(crate) struct Answering {
    pub(crate) answer: Answer,
    /// Id of the answer, without the prefix that each API adds.
    pub(crate) id: String,
    /// Start of the answer; for a turn, the stored time.
    pub(crate) created_at: DateTime<Utc>,
    /// Conversation that stores the answer; `None` for a direct model call.
    pub(crate) conversation: Option<Uuid>,
}

impl Answering {
    /// Adds the header that names the conversation in which the answer is stored.
    pub(crate) fn name_conversation(conversation: Option<Uuid>, response: &mut HttpResponse) {
        if let Some(value) = conversation.and_then(|uuid| HeaderValue::from_str(&uuid.to_string()).ok()) {
            response.headers_mut().insert(CONVERSATION, value);
        }
    }
}

/// Starts the answer. Takes the question and the input out of `asked`.
pub(crate) async fn begin(
    state: &AppState,
    caller: &Caller,
    request: &HttpRequest,
    asked: &mut Asked,
) -> Result<Answering, ApiError> {
    if asked.is_plain { ask_plainly(state, caller, asked).await } else { answer(state, caller, request, asked).await }
}

async fn ask_plainly(state: &AppState, caller: &Caller, asked: &mut Asked) -> Result<Answering, ApiError> {
    let (user, model, input) = (caller.user, asked.model.clone(), std::mem::take(&mut asked.input));
    let weight = if asked.is_task { Weight::Task } else { Weight::Message };
    let ask = move |service: ConversationService| async move {
        service.ask_plainly(user, model.as_deref(), input, weight).await
    };
    let events = state.run(ask).await?;
    let id = Uuid::new_v4().simple().to_string();
    Ok(Answering { answer: Answer::Plain(PlainAnswer::new(events)), id, created_at: now(), conversation: None })
}

async fn answer(
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
        chaining: std::mem::take(&mut asked.chaining),
    };
    let follower = follow(state, request, user, |service| async move { service.answer_program(new).await }).await?;
    let (conversation, message_id) = follower.place();
    let (id, created_at) = (message_id.to_string(), follower.created_at());
    Ok(Answering { answer: Answer::Turn(Box::new(follower)), id, created_at, conversation: Some(conversation) })
}

/// Returns the API client, which owns its conversations. The API key distinguishes the clients of a user.
pub(crate) fn program_of(caller: &Caller) -> Program {
    let key_id = if let Credential::Key(id) = caller.credential { id } else { 0 };
    Program { user: caller.user, key_id }
}

/// Starts a turn and follows it.
pub(crate) async fn follow<F, W>(
    state: &AppState,
    request: &HttpRequest,
    user: UserId,
    begin: F,
) -> Result<Follower, ApiError>
where
    F: FnOnce(ConversationService) -> W + Send + 'static,
    W: Future<Output = Result<StartedTurn, ServiceError>> + Send + 'static,
{
    // If the client disconnects meanwhile, the result is dropped, which stops the turn.
    let begin = move |service: ConversationService| async move {
        let turn = begin(service.clone()).await?;
        Ok(BegunTurn::new(service, user, turn))
    };
    let turn = state.run(begin).await?;
    let path = format!("/c/{}", turn.place().0);
    let link = origin::origin(state.public_url.as_ref(), request).unwrap_or_default() + &path;
    Ok(Follower::new(turn, link, state.limits.approval_wait))
}
