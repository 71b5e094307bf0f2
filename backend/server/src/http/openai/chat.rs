//! `POST /v1/chat/completions`: a turn, or a model that is asked once, answered as a stream or whole.

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{HeaderName, HeaderValue},
    web::Json,
};
use serde_json::value::RawValue;
use tokio::time::timeout;
use uuid::Uuid;

use super::{
    super::{
        cookie,
        error::ApiError,
        guard,
        peer::Peer,
        sse::{self, Frame},
        state::{AppState, State},
    },
    ask::{self, Asked, StreamWish},
    chunk::Chunks,
    follow::{BegunTurn, Follower},
    plain::PlainAnswer,
    refusal::Refusal,
    sink::{Progress, Sink},
    whole::{Completion, WholeAnswer},
};
use crate::{
    accounts::{Caller, Credential},
    conversation::{ConversationService, Program, ProgramRequest},
    db::now,
};

/// Says in which conversation an answer is stored.
const CONVERSATION: HeaderName = HeaderName::from_static("x-tallybook-conversation");

/// What answers.
enum Answer {
    Turn(Box<Follower>),
    Plain(PlainAnswer),
}

impl Answer {
    async fn next(&mut self, sink: &mut impl Sink) -> Progress {
        match self {
            Self::Turn(turn) => turn.next(sink).await,
            Self::Plain(answer) => answer.next(sink).await,
        }
    }
}

/// An answer that has begun.
struct Answering {
    answer: Answer,
    id: String,
    /// Where it is stored.
    conversation: Option<Uuid>,
}

pub(super) async fn create(
    state: State,
    caller: Caller,
    peer: Peer,
    request: HttpRequest,
    body: Json<Box<RawValue>>,
) -> Result<HttpResponse, ApiError> {
    let mut asked = ask::read(body.get(), request.headers(), state.service.models())?;
    let answering = if asked.is_plain {
        ask_plainly(&state, &mut asked)?
    } else {
        begin(&state, &caller, &request, &mut asked).await?
    };
    let conversation = answering.conversation;
    let mut response = match asked.stream {
        Some(wish) => stream(&state, peer, answering, &asked.name, wish).await?,
        None => whole(peer, answering, &asked.name).await?,
    };
    if let Some(value) = conversation.and_then(|uuid| HeaderValue::from_str(&uuid.to_string()).ok()) {
        response.headers_mut().insert(CONVERSATION, value);
    }
    Ok(response)
}

fn ask_plainly(state: &AppState, asked: &mut Asked) -> Result<Answering, ApiError> {
    let events = state.service.ask_plainly(asked.model.as_deref(), std::mem::take(&mut asked.input))?;
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
    let key_id = if let Credential::Key(id) = caller.credential { id } else { 0 };
    let new = ProgramRequest {
        program: Program { user, key_id },
        chat_id: asked.chat_id.take(),
        model: asked.model.clone(),
        question: std::mem::take(&mut asked.question),
        input: std::mem::take(&mut asked.input),
    };
    // Whoever goes away meanwhile drops what comes of it, which stops the turn.
    let begin = |service: ConversationService| async move {
        let turn = service.answer_program(new).await?;
        Ok(BegunTurn::new(service, user, turn))
    };
    let turn = state.run(begin).await?;
    let (conversation, message_id) = turn.place();
    let link = link(request, conversation);
    let follower = Follower::new(turn, link, state.limits.approval_wait, state.runtime.clone());
    let id = format!("chatcmpl-{message_id}");
    Ok(Answering { answer: Answer::Turn(Box::new(follower)), id, conversation: Some(conversation) })
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
    let Answering { mut answer, id, conversation } = answering;
    let _served = peer.served();
    let mut text = WholeAnswer::default();
    let progress = loop {
        tokio::select! {
            biased;
            progress = answer.next(&mut text) => match progress {
                Progress::More => {}
                progress => break progress,
            },
            // Nobody reads what is answered then.
            () = peer.gone() => break Progress::Failed(Refusal::broken_off()),
        }
    };
    match progress {
        Progress::Ended { finish, usage } => {
            let body = Completion::new(&id, now().timestamp(), model, &text, finish, usage);
            Ok(HttpResponse::Ok().json(body))
        }
        Progress::Failed(refusal) => Err(Refusal { is_stored: conversation.is_some(), ..refusal }.into()),
        Progress::More => Err(Refusal::broken_off().into()),
    }
}

/// What fails before there is anything to send fails by its status; for how long that can be is bounded by the first sign of
/// life.
async fn stream(
    state: &AppState,
    peer: Peer,
    answering: Answering,
    model: &str,
    wish: StreamWish,
) -> Result<HttpResponse, ApiError> {
    let Answering { mut answer, id, .. } = answering;
    let mut chunks = Chunks::new(&id, now().timestamp(), model, wish.tools);
    let mut first = match timeout(state.keep_alive, answer.next(&mut chunks)).await {
        Ok(Progress::Failed(refusal)) => return Err(refusal.into()),
        Ok(progress) => Some(progress),
        Err(_) => {
            chunks.begin();
            Some(Progress::More)
        }
    };
    let sign_of_life = chunks.sign_of_life();
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
                progress = answer.next(&mut chunks) => progress,
                () = peer.gone() => return None,
            }
        };
        is_over = !matches!(progress, Progress::More);
        match progress {
            Progress::More => {}
            Progress::Ended { finish, usage } => chunks.end(finish, wish.usage.then_some(usage)),
            Progress::Failed(refusal) => chunks.fail(&refusal),
        }
        Some(vec![Frame::from(chunks.take())])
    };
    Ok(sse::respond_with(state.keep_alive, sign_of_life, next))
}
