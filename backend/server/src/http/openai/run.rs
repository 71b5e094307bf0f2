//! HTTP handler for `POST /v1/chat/completions`: starts a turn or a direct model call, and streams or collects the
//! answer until it ends or the client disconnects. The other APIs use the same functions.

use actix_web::{HttpRequest, HttpResponse, http::header::HeaderValue, web::Payload};
use chrono::{DateTime, Utc};
use tallybook_accounts::{Caller, Credential, UserId};
use tallybook_conversations::{Access, ApiClient, ApiClientRequest, ConversationService, ServiceError, StartedTurn};
use tallybook_protocol::Usage;
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use crate::http::{
    base_url::base_url,
    caller::Authenticated,
    connection_limits::StreamPermit,
    error::ApiError,
    openai::{
        attachments,
        chunk::{Chunk, Chunks, Completion, WholeAnswer},
        error::{CONVERSATION, Refusal},
        follow::{DirectCall, Follower, Progress, Sink, Writer},
        parse::{ResponseOptions, parse_chat_request},
        request::ChatRequest,
    },
    peer::Peer,
    shared_responses::{ModelFailed, Unknown},
    sse::{self, Frame},
    state::{AppState, State},
};

/// Creates a chat completion, streamed or not.
///
/// Tallybook's tools run on the server; their calls do not appear in the response. The question and the answer are
/// stored as a conversation.
#[utoipa::path(
    post, path = "/v1/chat/completions", operation_id = "create_chat_completion", tag = "Programs",
    request_body = ChatRequest,
    params(
        ("X-Tallybook-Conversation" = Option<String>, Header, max_length = 200,
            description = "The conversation to continue, by its UUID or by an id of the client's own. Absent: a new one."),
        ("X-OpenWebUI-Chat-Id" = Option<String>, Header, max_length = 200, description = "The same, under the name that Open WebUI uses."),
        ("X-Tallybook-Task" = Option<String>, Header, description = "If not empty, calls the model once, without tools, and stores nothing."),
        ("X-Tallybook-Tools" = Option<String>, Header, description = "`events`: the stream also reports the calls of Tallybook's tools."),
    ),
    responses(
        (status = 200, description = "The answer. A stream consists of `data:` lines with chunks, and ends with `[DONE]`.",
            content((Completion<'static> = "application/json"), (Chunk<'static> = "text/event-stream")),
            headers(("X-Tallybook-Conversation" = Uuid, description = "Conversation in which the answer is stored."))),
        Unknown, ModelFailed,
    ),
)]
pub(crate) async fn create(
    state: State,
    Authenticated(caller): Authenticated,
    peer: Peer,
    _permit: StreamPermit,
    request: HttpRequest,
    payload: Payload,
) -> Result<HttpResponse, ApiError> {
    let _served = peer.served();
    let body = state.large_bodies.read(&request, payload).await?;
    let access = state.service.access_of(caller.user).await?;
    let (mut new, attachments, ResponseOptions { name, stream }) =
        parse_chat_request(body.json()?.get(), request.headers(), api_client_of(&caller), &access.models)?;
    attachments::store(&state, body, attachments, &mut new).await?;
    let answer = Answer::start(&state, &request, access, new).await?;
    let (id, created, conversation) =
        (format!("chatcmpl-{}", answer.id()), answer.created_at().timestamp(), answer.conversation());
    let mut response = if let Some(options) = stream {
        answer.stream(&state, peer, Chunks::new(id, created, name, options)).await?
    } else {
        let mut whole = WholeAnswer::default();
        let (finish, usage) = answer.collect(peer, &mut whole).await?;
        HttpResponse::Ok().json(Completion::new(&id, created, &name, &whole, finish, usage))
    };
    name_conversation(conversation, &mut response);
    Ok(response)
}

/// Adds the header that names the conversation in which an answer is stored.
pub(crate) fn name_conversation(conversation: Option<Uuid>, response: &mut HttpResponse) {
    if let Some(value) = conversation.and_then(|uuid| HeaderValue::from_str(&uuid.to_string()).ok()) {
        response.headers_mut().insert(CONVERSATION, value);
    }
}

/// Returns the API client of a request, to which its conversations belong. A user's clients are distinguished by API
/// key.
pub(crate) fn api_client_of(caller: &Caller) -> ApiClient {
    let key_id = if let Credential::Key(id) = caller.credential { id } else { 0 };
    ApiClient { user: caller.user, key_id }
}

/// Starts a turn for an API client, and follows it. If the client disconnects, the turn is stopped.
pub(crate) async fn follow_turn<F, W>(
    state: &AppState,
    request: &HttpRequest,
    user: UserId,
    begin: F,
) -> Result<Follower, ApiError>
where
    F: FnOnce(ConversationService) -> W + Send + 'static,
    W: Future<Output = Result<StartedTurn, ServiceError>> + Send + 'static,
{
    let origin = base_url(state.public_url.as_ref(), request).unwrap_or_default();
    let approval_timeout = state.limits.approval_wait;
    // If the client disconnects before the turn has started, dropping the result stops the turn.
    let follow = move |service: ConversationService| async move {
        let turn = begin(service.clone()).await?;
        Ok(Follower::new(service, user, turn, &origin, approval_timeout))
    };
    state.run(follow).await
}

/// An answer that has started.
pub(crate) enum Answer {
    Turn(Box<Follower>),
    /// A direct model call.
    Direct(DirectCall),
}

impl Answer {
    /// Starts the answer: a turn, or a direct model call.
    pub(crate) async fn start(
        state: &AppState,
        request: &HttpRequest,
        access: Access,
        new: ApiClientRequest,
    ) -> Result<Self, ApiError> {
        let user = new.api_client.user;
        let Some(weight) = new.direct else {
            let begin =
                move |service: ConversationService| async move { service.answer_api_client(&access, new).await };
            return Ok(Self::of_turn(follow_turn(state, request, user, begin).await?));
        };
        let ask = move |service: ConversationService| async move { service.call_model(&access, new, weight).await };
        Ok(Self::Direct(DirectCall::new(state.run(ask).await?)))
    }

    /// Returns the answer of a turn.
    pub(crate) fn of_turn(turn: Follower) -> Self {
        Self::Turn(Box::new(turn))
    }

    /// Returns the id of the answer, without the prefix that each API adds.
    pub(crate) fn id(&self) -> String {
        match self {
            Self::Turn(turn) => turn.message_id().to_string(),
            Self::Direct(call) => call.id().simple().to_string(),
        }
    }

    /// Returns the start of the answer; for a turn, the stored time.
    pub(crate) fn created_at(&self) -> DateTime<Utc> {
        match self {
            Self::Turn(turn) => turn.created_at(),
            Self::Direct(call) => call.created_at(),
        }
    }

    /// Returns the conversation in which the answer is stored; `None` for a direct model call.
    pub(crate) fn conversation(&self) -> Option<Uuid> {
        match self {
            Self::Turn(turn) => Some(turn.conversation()),
            Self::Direct(_) => None,
        }
    }

    async fn next(&mut self, sink: &mut impl Sink) -> Progress {
        match self {
            Self::Turn(turn) => turn.next(sink).await,
            Self::Direct(call) => call.next(sink).await,
        }
    }

    /// Collects the whole answer. Returns OpenAI's finish reason and the usage. The caller must hold `Peer::served`
    /// from the start of the request, because storing the question also takes time.
    pub(crate) async fn collect(mut self, peer: Peer, sink: &mut impl Sink) -> Result<(&'static str, Usage), Refusal> {
        loop {
            tokio::select! {
                biased;
                progress = self.next(sink) => match progress {
                    Progress::More => {}
                    Progress::Ended { finish, usage } => return Ok((finish, usage)),
                    Progress::Failed(refusal) => return Err(refusal.stored_in(self.conversation())),
                },
                // The client has disconnected and cannot read the answer.
                () = peer.gone() => return Err(Refusal::interrupted().stored_in(self.conversation())),
            }
        }
    }

    /// Streams the answer. If the answer fails before there is anything to send, returns the error instead. The stream
    /// starts after `keep_alive` at the latest.
    pub(crate) async fn stream(
        mut self,
        state: &AppState,
        peer: Peer,
        mut writer: impl Writer + 'static,
    ) -> Result<HttpResponse, ApiError> {
        let mut first = match timeout(state.keep_alive, self.next(&mut writer)).await {
            // If text arrived together with the failure, the text is streamed first.
            Ok(Progress::Failed(refusal)) if !writer.is_ready() => {
                return Err(refusal.stored_in(self.conversation()).into());
            }
            Ok(progress) => Some(progress),
            Err(_) => {
                writer.begin();
                Some(Progress::More)
            }
        };
        let keep_alive = state.keep_alive;
        let mut is_over = false;
        let next = async move || {
            if is_over {
                return None;
            }
            let progress = if let Some(progress) = first.take() {
                progress
            } else {
                tokio::select! {
                    biased;
                    progress = self.next(&mut writer) => progress,
                    () = peer.gone() => return None,
                    () = sleep(keep_alive) => return Some(vec![Frame::from(writer.keep_alive())]),
                }
            };
            is_over = !matches!(progress, Progress::More);
            match progress {
                Progress::More => {}
                Progress::Ended { finish, usage } => writer.end(finish, usage),
                Progress::Failed(refusal) => writer.fail(&refusal),
            }
            Some(vec![Frame::from(writer.take())])
        };
        Ok(sse::respond_by(next))
    }
}
