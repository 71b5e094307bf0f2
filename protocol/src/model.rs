//! Models of the catalog, as `GET /api/models` lists them, and their prices.

use serde::{Deserialize, Serialize};

use crate::Usage;

/// Answer of `GET /api/models`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModelList {
    /// In the order of the settings.
    pub items: Vec<CatalogModel>,
}

/// One model of the catalog.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CatalogModel {
    /// What people and programs call it; unique on the server.
    pub name: String,
    /// `anthropic`, `openai`, …, or `demo`.
    pub provider: String,
    /// The provider's name of the model.
    pub model: String,
    /// How it is told of tools at present.
    pub tool_mode: ToolOffer,
    /// Parts of a request that its server cannot take, by the settings or by its refusals since the start:
    /// `no_stream_options`, `no_system_message`, …. Tools are in `tool_mode`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quirks: Vec<String>,
    /// Whether it answers where none is chosen.
    pub is_default: bool,
    /// Whether it reads images.
    pub vision: bool,
    /// What it costs, where the settings say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<Prices>,
    /// Whether it can be chosen. So can every model that is listed: one that cannot be set up stops the server's start.
    pub available: bool,
}

/// How a model is told of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolOffer {
    /// By its provider's own tool calling.
    Native,
    /// In the prompt.
    Prompt,
    /// A way that this reader does not know yet.
    #[serde(other)]
    Unknown,
}

/// What a model costs per million tokens, in whatever currency the operator reckons in. Tokens that came from a provider's
/// cache count as any others, so a sum may be higher than the bill and is never lower.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Prices {
    /// Per million tokens that the model reads.
    pub input: f64,
    /// Per million tokens that it writes.
    pub output: f64,
}

impl Prices {
    /// Returns the cost of these tokens, in billionths of the currency of the prices.
    pub fn cost_nanos(self, usage: &Usage) -> i64 {
        #[expect(clippy::cast_precision_loss, reason = "no turn has so many tokens that a double could not count them")]
        let millionths = usage.input_tokens as f64 * self.input + usage.output_tokens as f64 * self.output;
        #[expect(clippy::cast_possible_truncation, reason = "what is too large becomes the largest there is")]
        let nanos = (millionths * 1000.0).round() as i64;
        nanos
    }
}

#[cfg(test)]
mod tests {
    use super::{Prices, ToolOffer};
    use crate::Usage;

    #[test]
    fn tokens_cost_what_a_million_of_them_costs() {
        let usage = Usage { input_tokens: 1_000_000, output_tokens: 1_000_000, ..Usage::default() };
        assert_eq!(Prices { input: 3.0, output: 15.0 }.cost_nanos(&usage), 18_000_000_000);
        let usage = Usage { input_tokens: 7, output_tokens: 1, ..Usage::default() };
        assert_eq!(Prices { input: 0.15, output: 0.6 }.cost_nanos(&usage), 1650);
    }

    #[test]
    fn a_way_to_offer_tools_that_came_later_is_unknown() {
        assert_eq!(serde_json::from_str::<ToolOffer>(r#""telepathy""#).unwrap(), ToolOffer::Unknown);
    }
}
