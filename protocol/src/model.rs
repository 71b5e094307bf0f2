//! Models of the catalog, as `GET /api/models` lists them, and their prices.

use serde::{Deserialize, Serialize};

use crate::Usage;

/// Response of `GET /api/models`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModelList {
    /// The models, in the order of the settings.
    pub items: Vec<CatalogModel>,
}

/// One model of the catalog.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CatalogModel {
    /// Name of the model for users and API clients; unique on the server.
    pub name: String,
    /// `anthropic`, `openai`, …, or `demo`.
    pub provider: String,
    /// The provider's name of the model.
    pub model: String,
    /// Current way in which the model receives tools.
    pub tool_mode: ToolOffer,
    /// Parts of a request that the model's server does not accept: `no_stream_options`, `no_system_message`, …. They
    /// come from the settings, and from the server's refusals since the start. The quirk about tools is in `tool_mode`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quirks: Vec<String>,
    /// `true` for the model that answers if no model is chosen.
    pub is_default: bool,
    /// `true` if the model reads images.
    pub vision: bool,
    /// Prices of the model; absent if the settings have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<Prices>,
    /// `true` if the model can be chosen. This is so for all listed models: a model that cannot be set up is a start
    /// error.
    pub available: bool,
}

/// Way in which a model receives tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolOffer {
    /// Through the provider's own tool calling.
    Native,
    /// In the prompt.
    Prompt,
    /// A way that this version does not know.
    #[serde(other)]
    Unknown,
}

/// Prices of a model per million tokens, in the currency that the operator chose. Tokens from a provider's cache count
/// in full, so calculated costs can be higher than the bill but never lower.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Prices {
    /// Per million tokens that the model reads.
    pub input: f64,
    /// Per million tokens that the model writes.
    pub output: f64,
}

impl Prices {
    /// Returns the cost of these tokens, in billionths of the currency of the prices.
    pub fn cost_nanos(self, usage: &Usage) -> i64 {
        #[expect(clippy::cast_precision_loss, reason = "the tokens of a turn fit into a double exactly")]
        let millionths = usage.input_tokens as f64 * self.input + usage.output_tokens as f64 * self.output;
        #[expect(clippy::cast_possible_truncation, reason = "the cast saturates")]
        let nanos = (millionths * 1000.0).round() as i64;
        nanos
    }
}

/// A provider's model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModelInfo {
    /// `anthropic`, `openai`, …, or `demo`.
    pub provider: String,
    /// The provider's name of the model.
    pub model: String,
}

#[cfg(test)]
mod tests {
    use super::{Prices, ToolOffer};
    use crate::Usage;

    #[test]
    fn the_cost_follows_from_the_prices_per_million_tokens() {
        let usage = Usage { input_tokens: 1_000_000, output_tokens: 1_000_000, ..Usage::default() };
        assert_eq!(Prices { input: 3.0, output: 15.0 }.cost_nanos(&usage), 18_000_000_000);
        let usage = Usage { input_tokens: 7, output_tokens: 1, ..Usage::default() };
        assert_eq!(Prices { input: 0.15, output: 0.6 }.cost_nanos(&usage), 1650);
    }

    #[test]
    fn a_tool_mode_of_a_later_version_is_unknown() {
        assert_eq!(serde_json::from_str::<ToolOffer>(r#""telepathy""#).unwrap(), ToolOffer::Unknown);
    }
}
