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
    /// Of the tokens read, those that came from the provider's cache.
    pub cached_tokens: i64,
    /// What they cost, in billionths of the currency that the settings' prices are in; absent where no price is known.
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

/// What models used up for one purpose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PurposeUsage {
    /// What they were asked for: `answer`, `review`, `title` and the like.
    pub purpose: String,
    /// How often they were.
    pub calls: i64,
    /// Tokens and cost.
    #[serde(flatten)]
    pub usage: Usage,
}

/// Answer to `GET /api/conversations/{uuid}/usage` and `…/messages/{id}/usage`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UsageByPurpose {
    /// One for each purpose, in the order of their names.
    pub items: Vec<PurposeUsage>,
}
