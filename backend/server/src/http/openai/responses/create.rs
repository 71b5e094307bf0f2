//! `POST /v1/responses`.

use actix_web::{HttpRequest, HttpResponse, web::Json};
use serde_json::value::RawValue;

use super::{
    super::{
        super::{error::ApiError, peer::Peer, state::State},
        begin::{Answering, begin},
        refusal::Refusal,
        sink::Progress,
        whole::WholeAnswer,
    },
    ask::{self, no_previous},
    body::{self, Head},
    events::Events,
};
use crate::{accounts::Caller, conversation::ServiceError, db::now};

pub(in super::super) async fn create(
    state: State,
    caller: Caller,
    peer: Peer,
    request: HttpRequest,
    body: Json<Box<RawValue>>,
) -> Result<HttpResponse, ApiError> {
    let (mut asked, repeated) = ask::read(body.get(), request.headers(), state.service.models())?;
    let begun = begin(&state, &caller, &request, &mut asked).await.map_err(|error| match error {
        ApiError::Service(ServiceError::NoSuchResponse) => {
            no_previous(repeated.previous_response_id.as_deref().unwrap_or_default()).into()
        }
        error => error,
    });
    let Answering { answer, id, conversation } = begun?;
    let head = Head { id, created: now().timestamp(), model: asked.name, repeated };
    let mut response = if asked.stream.is_some() {
        answer.stream(&state, peer, Events::new(head)).await?
    } else {
        let mut whole = WholeAnswer::default();
        match answer.collect(peer, &mut whole).await {
            Progress::Ended { finish, usage } => {
                let state = body::State::Ended { finish, usage };
                let items = head.items(&whole.text, &whole.calls, state.item_status());
                HttpResponse::Ok().json(head.body(state, items))
            }
            Progress::Failed(refusal) => return Err(refusal.stored(conversation.is_some()).into()),
            Progress::More => return Err(Refusal::broken_off().into()),
        }
    };
    Answering::name_conversation(conversation, &mut response);
    Ok(response)
}
