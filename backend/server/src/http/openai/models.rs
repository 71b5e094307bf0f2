//! `GET /v1/models`: each model of the catalog as the agent, and as what is asked once without tools.

use std::sync::LazyLock;
use tallybook_database::now;

use actix_web::web::{Json, Path};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    super::{error::ApiError, state::State},
    ask::{PLAIN, no_such_model},
};
use crate::models::Catalog;

/// When the models were first known here: OpenAI's clients want a time.
static CREATED: LazyLock<i64> = LazyLock::new(|| now().timestamp());

/// The list.
#[derive(Serialize, ToSchema)]
#[schema(as = ProgramModels)]
pub(super) struct Models {
    object: &'static str,
    data: Vec<Model>,
}

/// One of them.
#[derive(Serialize, ToSchema)]
#[schema(as = ProgramModel)]
pub(super) struct Model {
    id: String,
    object: &'static str,
    created: i64,
    owned_by: String,
}

/// The models: each as the agent, and as `NAME:plain`, one call of the model without tools.
#[utoipa::path(
    get, path = "/v1/models", operation_id = "list_openai_models", tag = "Programs", responses((status = 200, body = Models)),
)]
pub(super) async fn list(state: State) -> Json<Models> {
    Json(Models { object: "list", data: all(state.service.models()) })
}

/// One of them.
#[utoipa::path(
    get, path = "/v1/models/{id}", operation_id = "find_openai_model", tag = "Programs", responses((status = 200, body = Model)),
)]
pub(super) async fn find(state: State, id: Path<String>) -> Result<Json<Model>, ApiError> {
    let models = state.service.models();
    let found = all(models).into_iter().find(|model| model.id == *id);
    found.map(Json).ok_or_else(|| no_such_model(&id, models).into())
}

fn all(models: &Catalog) -> Vec<Model> {
    let model =
        |id: String, owned_by: &str| Model { id, object: "model", created: *CREATED, owned_by: owned_by.to_owned() };
    let catalog = models.list().items;
    let plain = |name: &str| format!("{name}{PLAIN}");
    let mut all = Vec::new();
    for item in &catalog {
        all.push(model(item.name.clone(), &item.provider));
        // A model of that very name counts first.
        if models.find(&plain(&item.name)).is_none() {
            all.push(model(plain(&item.name), &item.provider));
        }
    }
    all
}
