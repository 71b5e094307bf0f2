//! Requests for models that can answer, and for the models and tool servers in the settings, which only admins can see.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tallybook_protocol::{
    ConfiguredModel, ConfiguredModels, ConfiguredToolServer, ConfiguredToolServers, DiscoverModels, DiscoveredModels,
    ModelList,
};

use super::{
    error::ApiError,
    request::{NO_BODY, call, call_model, change, encoded, take_back_version},
};
use crate::setup::{EntryKind, SetupEntry, TestResult};

/// `GET /api/models`
pub(crate) async fn list_models() -> Result<ModelList, ApiError> {
    call("GET", "/api/models", NO_BODY).await
}

/// `GET /api/admin/models` or `GET /api/admin/tool-servers`
pub(crate) async fn list(kind: EntryKind) -> Result<Vec<SetupEntry>, ApiError> {
    let url = url_of(kind, None);
    Ok(match kind {
        EntryKind::Model => {
            let list: ConfiguredModels = call("GET", &url, NO_BODY).await?;
            list.items.into_iter().map(SetupEntry::from).collect()
        }
        EntryKind::ToolServer => {
            let list: ConfiguredToolServers = call("GET", &url, NO_BODY).await?;
            list.items.into_iter().map(SetupEntry::from).collect()
        }
    })
}

/// `GET /api/admin/models/{name}` or `GET /api/admin/tool-servers/{name}`
pub(crate) async fn find(kind: EntryKind, name: &str) -> Result<SetupEntry, ApiError> {
    entry(kind, call("GET", &url_of(kind, Some(name)), NO_BODY).await?)
}

/// `POST /api/admin/models` or `POST /api/admin/tool-servers`. The server checks the settings, but does not use them.
pub(crate) async fn add(kind: EntryKind, new: &Map<String, Value>) -> Result<SetupEntry, ApiError> {
    entry(kind, call("POST", &url_of(kind, None), Some(new)).await?)
}

/// `PATCH /api/admin/models/{name}` or `PATCH /api/admin/tool-servers/{name}`
pub(crate) async fn update(
    kind: EntryKind,
    name: &str,
    version: Option<i64>,
    changes: &Map<String, Value>,
) -> Result<SetupEntry, ApiError> {
    entry(kind, change(&url_of(kind, Some(name)), version, changes).await?)
}

/// `DELETE /api/admin/models/{name}` or `DELETE /api/admin/tool-servers/{name}`
pub(crate) async fn remove(kind: EntryKind, name: &str, version: Option<i64>) -> Result<(), ApiError> {
    take_back_version(&url_of(kind, Some(name)), version).await
}

/// `POST /api/admin/models/{name}/test` or `POST /api/admin/tool-servers/{name}/test`: tests a stored entry, with
/// changes that are not stored.
pub(crate) async fn test(
    kind: EntryKind,
    name: &str,
    changes: Option<&Map<String, Value>>,
) -> Result<TestResult, ApiError> {
    run_test(kind, &format!("{}/test", url_of(kind, Some(name))), changes).await
}

/// `POST /api/admin/models/test` or `POST /api/admin/tool-servers/test`: tests an entry that is not stored.
pub(crate) async fn test_new(kind: EntryKind, new: &Map<String, Value>) -> Result<TestResult, ApiError> {
    run_test(kind, &format!("{}/test", url_of(kind, None)), Some(new)).await
}

async fn run_test(kind: EntryKind, url: &str, new: Option<&Map<String, Value>>) -> Result<TestResult, ApiError> {
    Ok(match kind {
        EntryKind::Model => TestResult::Model(call_model(url, new).await?),
        EntryKind::ToolServer => TestResult::ToolServer(call_model(url, new).await?),
    })
}

/// `POST /api/admin/models/discover`
pub(crate) async fn discover(provider: &DiscoverModels) -> Result<DiscoveredModels, ApiError> {
    call_model("/api/admin/models/discover", Some(provider)).await
}

fn url_of(kind: EntryKind, name: Option<&str>) -> String {
    let url = format!("/api/admin/{}", kind.path());
    name.map_or_else(|| url.clone(), |name| format!("{url}/{}", encoded(name)))
}

/// Reads an entry from a response.
fn entry(kind: EntryKind, response: Value) -> Result<SetupEntry, ApiError> {
    fn read<T: DeserializeOwned + Into<SetupEntry>>(response: Value) -> Result<SetupEntry, ApiError> {
        serde_json::from_value::<T>(response).map(Into::into).map_err(|_| ApiError::Unreadable)
    }
    match kind {
        EntryKind::Model => read::<ConfiguredModel>(response),
        EntryKind::ToolServer => read::<ConfiguredToolServer>(response),
    }
}
