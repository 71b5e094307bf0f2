//! The state of an answer while no part of it arrives. `text` has its words, and `message` renders it.

use crate::transcript::Activity;

/// The event that an answer waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// The next text of the model.
    #[default]
    Model,
    /// The end of a tool call that the model is writing.
    Call {
        /// Name of the tool.
        name: String,
        /// Size of the arguments so far.
        bytes: i64,
    },
    /// The next attempt of a failed request to the provider.
    Provider {
        /// The stable error code of the failure.
        code: String,
        /// Delay until the next attempt, in seconds, counted from the event that announced it.
        seconds: u64,
        /// Number of the next attempt, and the maximum number of attempts.
        attempt: u32,
        attempts: u32,
    },
}

impl Waiting {
    /// Returns the state of an answer with this activity of its model.
    pub(crate) fn of(activity: Option<&Activity>) -> Self {
        match activity {
            None => Self::Model,
            Some(Activity::WritingCall(call)) => {
                Self::Call { name: call.tool_name.clone(), bytes: i64::try_from(call.bytes).unwrap_or(i64::MAX) }
            }
            Some(Activity::Retrying(retry)) => Self::Provider {
                code: retry.code.clone(),
                seconds: retry.delay_ms.div_ceil(1000),
                attempt: retry.attempt,
                attempts: retry.attempts,
            },
        }
    }
}
