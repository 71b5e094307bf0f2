//! HTTP handlers for `GET /v1/models`: each model of the catalog as the agent, and with a suffix for direct model
//! calls.

use std::sync::LazyLock;

use actix_web::web::{Json, Path};
use serde::Serialize;
use tallybook_conversations::models::PermittedModels;
use tallybook_database::now;
use utoipa::ToSchema;

use super::super::{caller::CurrentUser, error::ApiError, state::State};
use crate::http::openai::parse::{DIRECT_SUFFIX, no_such_model};

/// Time at which this process first listed its models. OpenAI's clients expect a time.
static CREATED: LazyLock<i64> = LazyLock::new(|| now().timestamp());

/// The list.
#[derive(Serialize, ToSchema)]
#[schema(as = ProgramModels)]
pub(crate) struct Models {
    object: &'static str,
    data: Vec<Model>,
}

/// One of them.
#[derive(Serialize, ToSchema)]
#[schema(as = ProgramModel)]
pub(crate) struct Model {
    id: String,
    object: &'static str,
    created: i64,
    owned_by: String,
}

/// The models: each as the agent, and as `NAME:plain`, one call of the model without tools.
#[utoipa::path(
    get, path = "/v1/models", operation_id = "list_openai_models", tag = "Programs", responses((status = 200, body = Models)),
)]
pub(crate) async fn list(state: State, CurrentUser(user): CurrentUser) -> Result<Json<Models>, ApiError> {
    Ok(Json(Models { object: "list", data: all(&state.service.models_of(user).await?) }))
}

/// One of them.
#[utoipa::path(
    get, path = "/v1/models/{id}", operation_id = "find_openai_model", tag = "Programs", responses((status = 200, body = Model)),
)]
pub(crate) async fn find(
    state: State,
    CurrentUser(user): CurrentUser,
    id: Path<String>,
) -> Result<Json<Model>, ApiError> {
    let models = &state.service.models_of(user).await?;
    let found = all(models).into_iter().find(|model| model.id == *id);
    found.map(Json).ok_or_else(|| no_such_model(&id, models).into())
}

fn all(models: &PermittedModels) -> Vec<Model> {
    let model =
        |id: String, owned_by: &str| Model { id, object: "model", created: *CREATED, owned_by: owned_by.to_owned() };
    let catalog = models.list().items;
    let plain = |name: &str| format!("{name}{DIRECT_SUFFIX}");
    let mut all = Vec::new();
    for item in &catalog {
        all.push(model(item.name.clone(), &item.provider));
        // A model with this exact name takes precedence.
        if models.find(&plain(&item.name)).is_none() {
            all.push(model(plain(&item.name), &item.provider));
        }
    }
    all
}
