//! Settings of models that admins add in the page, their tests, and the models that a provider offers.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::ToolOffer;

/// Settings of a model, as in a section `[[models]]` of the settings file. A missing setting has its default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ModelFields {
    /// Name of the model for users and API clients; unique on the server. 1 to 100 characters.
    pub name: String,
    /// `anthropic`, `openai` (also for every compatible server), `openrouter` or `ollama`.
    pub provider: String,
    /// The provider's name of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// URL of the provider's API, if it is not the provider's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The temperature, from 0 to 2. Not sent if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Maximum number of tokens of one answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// Size of the context window, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u32>,
    /// The way in which tools are presented to the model: `auto`, `native` or `prompt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_mode: Option<String>,
    /// The reasoning effort: `low`, `medium`, `high`, ….
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<String>,
    /// The reasoning budget, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_tokens: Option<u32>,
    /// `true` if the model reads images, `false` if it does not. If absent, Tallybook assumes that
    /// it does until its server refuses an image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vision: Option<bool>,
    /// Price per million tokens that the model reads. Set together with `output_price`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_price: Option<f64>,
    /// Price per million tokens that the model writes. Set together with `input_price`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_price: Option<f64>,
    /// Parts of a request that the model's server cannot accept (`true`), or that are always sent (`false`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub quirks: BTreeMap<String, bool>,
}

/// Body of `POST /api/admin/models` and `POST /api/admin/models/test`: a model and its key.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewModel {
    /// The settings.
    #[serde(flatten)]
    pub fields: ModelFields,
    /// The API key, if the provider requires one. It is stored encrypted, and no response contains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key: Option<String>,
}

/// A model in the settings, as `GET /api/admin/models` lists it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ConfiguredModel {
    /// The settings. For a model of the settings file or the environment, they include the defaults.
    #[serde(flatten)]
    pub fields: ModelFields,
    /// The place where the model is configured.
    pub origin: SettingsOrigin,
    /// `true` if an API key is set.
    pub has_key: bool,
    /// `true` for the model that answers if no model is chosen.
    pub is_default: bool,
    /// Reason why the model cannot be used; absent if it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Code of that reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem_code: Option<EntryProblem>,
    /// Version of an added model, for the header `If-Match`; changes with every change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
    /// Time of the last change of an added model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<DateTime<Utc>>,
}

/// Response of `GET /api/admin/models`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ConfiguredModels {
    /// The models of the settings file or the environment, then the added ones, oldest first.
    pub items: Vec<ConfiguredModel>,
}

/// The place where a model or tool server is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum SettingsOrigin {
    /// In the settings file or the environment. Such an entry can only be changed there.
    File,
    /// In the page or through the API.
    Page,
    /// In a place that this version does not know.
    #[serde(other)]
    Unknown,
}

/// Reason why a model or tool server that was added in the page cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum EntryProblem {
    /// The settings file or the environment has an entry of the same name, which is used instead.
    SetInFile,
    /// Its secret was encrypted with a key that the server does not have.
    OtherKey,
    /// Another reason, or one that this version does not know.
    #[serde(other)]
    Other,
}

/// Outcome of a test of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModelTest {
    /// `true` if the model answered.
    pub ok: bool,
    /// The answer.
    pub text: String,
    /// Time until the answer was complete, in milliseconds.
    pub ms: u64,
    /// Reason why the model did not answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The way in which the model called a tool.
    pub tools: TestedToolMode,
    /// `true` if the model reads images: it named the color of a picture, or the settings say so.
    pub vision: bool,
}

/// Way in which a tested model receives tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum TestedToolMode {
    /// Through the provider's own tool calling.
    Native,
    /// In the prompt.
    Prompted,
    /// The model did not call the tool that it was asked to call, or could not be reached.
    #[serde(other)]
    Unknown,
}

impl From<ToolOffer> for TestedToolMode {
    fn from(offer: ToolOffer) -> Self {
        match offer {
            ToolOffer::Native => Self::Native,
            ToolOffer::Prompt => Self::Prompted,
            ToolOffer::Unknown => Self::Unknown,
        }
    }
}

/// Body of `POST /api/admin/models/discover`.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct DiscoverModels {
    /// `anthropic`, `openai`, `openrouter` or `ollama`.
    pub provider: String,
    /// URL of the provider's API, if it is not the provider's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The API key, if the provider requires one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key: Option<String>,
    /// Name of an added model whose stored key is used without `api_key`, if the model has the same provider and URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `true` if a server that cannot be reached or sends no list counts as one without models, instead of being an
    /// error.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

/// Response of `POST /api/admin/models/discover`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DiscoveredModels {
    /// The models that the provider offers, in its order. At most 2,000.
    pub items: Vec<DiscoveredModel>,
}

/// A model that a provider offers. Fields that the provider does not report are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DiscoveredModel {
    /// The provider's name of the model, for the setting `model`.
    pub model: String,
    /// Display name of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Size of the context window, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u32>,
    /// `true` if the model reads images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vision: Option<bool>,
    /// Price per million tokens that the model reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_price: Option<f64>,
    /// Price per million tokens that the model writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_price: Option<f64>,
}
