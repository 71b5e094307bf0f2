//! What models used up, by what they were asked for. What one answer took is [`crate::Usage`].

use serde::{Deserialize, Serialize};

use super::event::Usage;

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
