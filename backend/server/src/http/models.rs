//! HTTP handler for `GET /api/models`: the models that users can choose.

use actix_web::web::Json;
use tallybook_protocol::ModelList;

use super::state::State;

/// Lists the models that you can choose.
#[utoipa::path(
    get, path = "/api/models", operation_id = "list_models", tag = "Models", responses((status = 200, body = ModelList)),
)]
pub(crate) async fn list(state: State) -> Json<ModelList> {
    Json(state.service.models().list())
}
