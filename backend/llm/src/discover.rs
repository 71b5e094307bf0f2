//! Lists the models that a provider offers, with `GET …/models`. The formats are those of
//! <https://platform.openai.com/docs/api-reference/models/list>, <https://docs.anthropic.com/en/api/models-list> and
//! <https://openrouter.ai/docs/api-reference/list-available-models>.

use reqwest::Response;
use serde_json::Value;
use tallybook_protocol::{DiscoveredModel, first_chars};
use tokio::time::timeout;

use super::{
    endpoint::Endpoint,
    error::ModelError,
    http,
    limits::{CONTEXT_TOKENS, DISCOVER_TIMEOUT, MAX_DISCOVERED_MODELS, MAX_MODEL_LIST_BYTES, MAX_MODEL_NAME_CHARS},
    settings::{ConnectError, ModelSettings},
};

/// Prefix that Google's compatible API puts before the names of its models in the list, but not in requests.
const GOOGLE_PREFIX: &str = "models/";

/// The reason why a provider's models cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum DiscoverError {
    /// The settings are not valid.
    #[error("{}", .0.sentence())]
    Settings(#[from] ConnectError),
    /// The request failed.
    #[error(transparent)]
    Request(#[from] ModelError),
    /// The server did not respond in time.
    #[error("The model provider sent nothing for {seconds} seconds. Try again, or enter a model's name yourself.")]
    Timeout {
        /// The timeout, in seconds.
        seconds: u64,
    },
    /// The server did not respond with a list of models, or the list is too long.
    #[error("The server at {address} did not send a list of models. Check its URL, or enter a model's name yourself.")]
    NoList {
        /// Scheme, host and port.
        address: String,
    },
}

/// Asks the provider in the settings for its models. The name of the model in the settings is not used. Entries
/// beyond the limits are dropped.
pub async fn discover(settings: &ModelSettings) -> Result<Vec<DiscoveredModel>, DiscoverError> {
    let endpoint = Endpoint::of_models(settings)?;
    let listed = timeout(DISCOVER_TIMEOUT, list(&endpoint)).await;
    listed.map_err(|_| DiscoverError::Timeout { seconds: DISCOVER_TIMEOUT.as_secs() })?
}

async fn list(endpoint: &Endpoint) -> Result<Vec<DiscoveredModel>, DiscoverError> {
    let no_list = || DiscoverError::NoList { address: endpoint.address.clone() };
    let body = read(http::get(endpoint).await?).await.ok_or_else(no_list)?;
    let list: Value = serde_json::from_slice(&body).map_err(|_| no_list())?;
    let models = list["data"].as_array().or(list["models"].as_array()).ok_or_else(no_list)?;
    Ok(models.iter().filter_map(read_model).take(MAX_DISCOVERED_MODELS).collect())
}

/// Reads the body of a response; `None` if the connection is lost or the body is too long.
async fn read(mut response: Response) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await.ok()? {
        body.extend_from_slice(&bytes);
        if body.len() > MAX_MODEL_LIST_BYTES {
            return None;
        }
    }
    Some(body)
}

/// Reads an entry of the list. Only its name is certain; the other fields are provider-specific. Returns `None` if the
/// name is missing or too long.
fn read_model(entry: &Value) -> Option<DiscoveredModel> {
    let id = entry["id"].as_str().or(entry["name"].as_str())?;
    if !(1..=MAX_MODEL_NAME_CHARS).contains(&id.chars().count()) {
        return None;
    }
    let title = entry["display_name"].as_str().or(entry["name"].as_str()).filter(|title| *title != id);
    let context = ["context_length", "max_input_tokens", "max_model_len"].iter().find_map(|key| entry[key].as_u64());
    let context =
        context.and_then(|tokens| u32::try_from(tokens).ok()).filter(|tokens| CONTEXT_TOKENS.contains(tokens));
    let modalities = entry["architecture"]["input_modalities"].as_array();
    let pricing = &entry["pricing"];
    let prices = price(&pricing["prompt"]).zip(price(&pricing["completion"]));
    Some(DiscoveredModel {
        model: id.strip_prefix(GOOGLE_PREFIX).unwrap_or(id).to_owned(),
        title: title.map(|title| first_chars(title, MAX_MODEL_NAME_CHARS).to_owned()),
        context_tokens: context,
        vision: modalities.map(|modalities| modalities.iter().any(|modality| modality == "image")),
        input_price: prices.map(|(input, _)| input),
        output_price: prices.map(|(_, output)| output),
    })
}

/// Converts a price per token, as a decimal number in a string, to a price per million tokens. A price below zero means
/// that it depends on the request.
fn price(per_token: &Value) -> Option<f64> {
    let price = per_token.as_str()?.parse::<f64>().ok()? * 1_000_000.0;
    (0.0..=1_000_000.0).contains(&price).then(|| (price * 1_000_000.0).round() / 1_000_000.0)
}
