//! `POST /v1/chat/completions`: a turn, or a model that is asked once, answered as a stream or whole.

use actix_web::{HttpRequest, HttpResponse, web::Json};
use serde_json::value::RawValue;

use super::{
    super::{error::ApiError, peer::Peer, state::State},
    ask,
    begin::{Answering, begin},
    chunk::Chunks,
    refusal::Refusal,
    sink::Progress,
    whole::{Completion, WholeAnswer},
};
use crate::{accounts::Caller, db::now};

pub(super) async fn create(
    state: State,
    caller: Caller,
    peer: Peer,
    request: HttpRequest,
    body: Json<Box<RawValue>>,
) -> Result<HttpResponse, ApiError> {
    let mut asked = ask::read(body.get(), request.headers(), state.service.models())?;
    let Answering { answer, id, conversation } = begin(&state, &caller, &request, &mut asked).await?;
    let (id, created) = (format!("chatcmpl-{id}"), now().timestamp());
    let mut response = if let Some(wish) = asked.stream {
        answer.stream(&state, peer, Chunks::new(&id, created, &asked.name, wish)).await?
    } else {
        let mut whole = WholeAnswer::default();
        match answer.collect(peer, &mut whole).await {
            Progress::Ended { finish, usage } => {
                let body = Completion::new(&id, now().timestamp(), &asked.name, &whole, finish, usage);
                HttpResponse::Ok().json(body)
            }
            Progress::Failed(refusal) => return Err(refusal.stored(conversation.is_some()).into()),
            Progress::More => return Err(Refusal::broken_off().into()),
        }
    };
    Answering::name_conversation(conversation, &mut response);
    Ok(response)
}
