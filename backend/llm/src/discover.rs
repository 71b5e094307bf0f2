//! Lists the models that a provider offers, with `GET …/models`. The formats are those of
//! <https://platform.openai.com/docs/api-reference/models/list>, <https://docs.anthropic.com/en/api/models-list> and
//! <https://openrouter.ai/docs/api-reference/list-available-models>.

use reqwest::Response;
use serde::Deserialize;
use tallybook_protocol::{DiscoveredModel, first_chars};
use tokio::time::timeout;

use super::{
    endpoint::Endpoint,
    error::ModelError,
    http,
    limits::{DISCOVER_TIMEOUT, MAX_DISCOVERED_MODELS, MAX_MODEL_LIST_BYTES, MAX_MODEL_NAME_CHARS},
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
    /// The server did not respond with a list of models, or the list is too long.
    #[error("The server at {address} did not send a list of models. Check its URL, or enter a model's name yourself.")]
    NoList {
        /// Scheme, host and port.
        address: String,
    },
}

/// Asks the provider in the settings for its models. The name of the model in the settings is not used. What a provider
/// sends beyond the limits is left out.
pub async fn discover(settings: &ModelSettings) -> Result<Vec<DiscoveredModel>, DiscoverError> {
    let endpoint = Endpoint::of_models(settings)?;
    let listed = timeout(DISCOVER_TIMEOUT, list(&endpoint)).await;
    listed.map_err(|_| ModelError::Timeout { seconds: DISCOVER_TIMEOUT.as_secs() })?
}

async fn list(endpoint: &Endpoint) -> Result<Vec<DiscoveredModel>, DiscoverError> {
    let no_list = || DiscoverError::NoList { address: endpoint.address.clone() };
    let body = read(http::get(endpoint).await?).await.ok_or_else(no_list)?;
    let list: ModelsBody = serde_json::from_slice(&body).map_err(|_| no_list())?;
    let models = list.data.or(list.models).ok_or_else(no_list)?;
    let known = |model: &Offered| (1..=MAX_MODEL_NAME_CHARS).contains(&model.id.chars().count());
    Ok(models.into_iter().filter(known).take(MAX_DISCOVERED_MODELS).map(Offered::read).collect())
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

/// The list: OpenAI's form, and the form of a few compatible servers.
#[derive(Deserialize)]
struct ModelsBody {
    data: Option<Vec<Offered>>,
    models: Option<Vec<Offered>>,
}

/// A model of the list. Only the name is certain; the rest is in the forms of single providers.
#[derive(Deserialize)]
struct Offered {
    #[serde(alias = "name")]
    id: String,
    /// Anthropic.
    display_name: Option<String>,
    /// OpenRouter.
    context_length: Option<u32>,
    /// Anthropic.
    max_input_tokens: Option<u32>,
    /// vLLM.
    max_model_len: Option<u32>,
    /// OpenRouter.
    architecture: Option<Architecture>,
    /// OpenRouter.
    pricing: Option<Pricing>,
}

#[derive(Deserialize)]
struct Architecture {
    #[serde(default)]
    input_modalities: Vec<String>,
}

/// Prices per token, as decimal numbers in strings.
#[derive(Deserialize)]
struct Pricing {
    prompt: Option<String>,
    completion: Option<String>,
}

impl Offered {
    fn read(self) -> DiscoveredModel {
        let price = |per_token: Option<&String>| {
            let price = per_token?.parse::<f64>().ok()? * 1_000_000.0;
            // A price below zero means that it depends on the request.
            (0.0..=1_000_000.0).contains(&price).then(|| (price * 1_000_000.0).round() / 1_000_000.0)
        };
        let prices = self
            .pricing
            .as_ref()
            .and_then(|pricing| Some((price(pricing.prompt.as_ref())?, price(pricing.completion.as_ref())?)));
        let modalities = self.architecture.map(|architecture| architecture.input_modalities).unwrap_or_default();
        let is_named = !modalities.is_empty();
        let context = self.context_length.or(self.max_input_tokens).or(self.max_model_len);
        DiscoveredModel {
            model: self.id.strip_prefix(GOOGLE_PREFIX).unwrap_or(&self.id).to_owned(),
            title: self.display_name.map(|title| first_chars(&title, MAX_MODEL_NAME_CHARS).to_owned()),
            context_tokens: context.filter(|tokens| super::limits::CONTEXT_TOKENS.contains(tokens)),
            vision: is_named.then(|| modalities.iter().any(|modality| modality == "image")),
            input_price: prices.map(|(input, _)| input),
            output_price: prices.map(|(_, output)| output),
        }
    }
}
