//! Token usage of models: per answer, and by purpose.

use std::{iter::Sum, ops::AddAssign};

use serde::{Deserialize, Serialize};

/// Tokens of a turn, summed over its steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Usage {
    /// Tokens the model read.
    pub input_tokens: i64,
    /// Tokens the model wrote.
    pub output_tokens: i64,
    /// Tokens among `input_tokens` that came from the provider's cache.
    pub cached_tokens: i64,
    /// Cost in billionths of the currency of the prices in the settings; absent if no price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_nanos: Option<i64>,
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
        self.cost_nanos = match (self.cost_nanos, other.cost_nanos) {
            (Some(cost), Some(more)) => Some(cost.saturating_add(more)),
            (cost, more) => cost.or(more),
        };
    }
}

impl Sum for Usage {
    fn sum<I: Iterator<Item = Self>>(steps: I) -> Self {
        steps.fold(Self::default(), |mut sum, step| {
            sum += step;
            sum
        })
    }
}

/// Usage of model calls for one purpose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PurposeUsage {
    /// Purpose of the calls: `answer`, `plan`, `evaluate`, `review`, `summary`, `title`, `reasoning_summary`, ….
    pub purpose: String,
    /// Number of model calls.
    pub calls: i64,
    /// Tokens and cost.
    #[serde(flatten)]
    pub usage: Usage,
}

/// Response of `GET /api/conversations/{uuid}/usage` and `…/messages/{id}/usage`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UsageByPurpose {
    /// Usage for each purpose, sorted by purpose.
    pub items: Vec<PurposeUsage>,
}
