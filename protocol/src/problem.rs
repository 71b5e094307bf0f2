//! Error responses of the REST API.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// An error response, `application/problem+json` (RFC 9457).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Problem {
    /// Stable identifier of the problem type, for example `/problems/turn-running`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Title of the problem type.
    pub title: String,
    /// The HTTP status code.
    pub status: u16,
    /// The problem with this request, and what to do about it.
    pub detail: String,
    /// ID of this request in the server's log.
    pub request_id: String,
    /// The budget, if it is used up.
    #[serde(flatten)]
    pub budget: Option<ProblemBudget>,
}

/// The budget of the problem `budget-used-up`, in tokens or in billionths of the currency of the prices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ProblemBudget {
    /// End of the period, when the budget starts again.
    pub resets_at: DateTime<Utc>,
    /// The amount that is used.
    pub used: i64,
    /// The limit.
    pub limit: i64,
}
