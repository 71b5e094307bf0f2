//! Types for IDs, one for each kind, so that IDs of different kinds cannot be confused. On the wire, and in the
//! database (feature `sqlx`), each ID is its number.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        #[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(transparent))]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        pub struct $name(pub i64);

        impl From<i64> for $name {
            fn from(id: i64) -> Self {
                Self(id)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id! {
    /// Row id of a message. An assistant's message is the turn that writes it.
    MessageId
}

id! {
    /// Row id of a tool call. The provider's own ID of the call is a text.
    ToolCallId
}

id! {
    /// Row id of a decision on a tool call.
    ApprovalId
}

id! {
    /// Row id of a link to a shared conversation.
    ShareId
}

id! {
    /// Row id of a plan. Each plan belongs to one answer.
    PlanId
}

id! {
    /// Row id of a step of a plan.
    PlanStepId
}
