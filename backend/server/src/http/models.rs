//! `GET /api/models`: the models that can be chosen.

use actix_web::web::Json;
use tallybook_protocol::ModelList;

use super::state::State;

pub(super) async fn list(state: State) -> Json<ModelList> {
    Json(state.service.models().list())
}
