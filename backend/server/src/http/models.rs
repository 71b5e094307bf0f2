//! HTTP handler for `GET /api/models`: the models that users can choose.

use actix_web::web::Json;
use tallybook_protocol::ModelList;

use super::{caller::CurrentUser, error::ApiError, state::State};

/// Lists the models that you can choose.
#[utoipa::path(
    get, path = "/api/models", operation_id = "list_models", tag = "Models", responses((status = 200, body = ModelList)),
)]
pub(crate) async fn list(state: State, CurrentUser(user): CurrentUser) -> Result<Json<ModelList>, ApiError> {
    Ok(Json(state.service.models_of(user).await?.list()))
}
