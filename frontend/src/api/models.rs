//! Requests for models: the models that can answer, and for admins their settings.

use serde_json::{Map, Value};
use tallybook_protocol::{
    ConfiguredModel, ConfiguredModels, DiscoverModels, DiscoveredModels, ModelList, ModelTest, NewModel,
};

use super::{
    error::ApiError,
    request::{NO_BODY, call, call_model, change, encoded, take_back},
};

/// `GET /api/models`
pub(crate) async fn list_models() -> Result<ModelList, ApiError> {
    call("GET", "/api/models", NO_BODY).await
}

/// `GET /api/admin/models`
pub(crate) async fn list_configured() -> Result<Vec<ConfiguredModel>, ApiError> {
    let list: ConfiguredModels = call("GET", "/api/admin/models", NO_BODY).await?;
    Ok(list.items)
}

/// `GET /api/admin/models/{name}`
pub(crate) async fn find_configured(name: &str) -> Result<ConfiguredModel, ApiError> {
    call("GET", &url_of(name), NO_BODY).await
}

/// `POST /api/admin/models`
pub(crate) async fn add(model: &NewModel) -> Result<ConfiguredModel, ApiError> {
    // The server checks the model, but does not ask it.
    call("POST", "/api/admin/models", Some(model)).await
}

/// `PATCH /api/admin/models/{name}`
pub(crate) async fn update(
    name: &str,
    version: Option<i64>,
    changes: &Map<String, Value>,
) -> Result<ConfiguredModel, ApiError> {
    change(&url_of(name), version, changes).await
}

/// `DELETE /api/admin/models/{name}`
pub(crate) async fn remove(name: &str) -> Result<(), ApiError> {
    take_back(&url_of(name)).await
}

/// `POST /api/admin/models/{name}/test`
pub(crate) async fn test(name: &str) -> Result<ModelTest, ApiError> {
    call_model(&format!("{}/test", url_of(name)), NO_BODY).await
}

/// `POST /api/admin/models/test`: tests a model that is not stored.
pub(crate) async fn test_new(model: &NewModel) -> Result<ModelTest, ApiError> {
    call_model("/api/admin/models/test", Some(model)).await
}

/// `POST /api/admin/models/discover`
pub(crate) async fn discover(provider: &DiscoverModels) -> Result<DiscoveredModels, ApiError> {
    call_model("/api/admin/models/discover", Some(provider)).await
}

fn url_of(name: &str) -> String {
    format!("/api/admin/models/{}", encoded(name))
}
