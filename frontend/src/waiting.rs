//! What an answer waits for while nothing of it comes. How that is said is in `text`, how it looks in `components::thinking`.

use crate::transcript::Activity;

/// What an answer waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// The model's next words.
    #[default]
    Model,
    /// The end of a tool call that the model is writing.
    Call {
        /// The tool.
        name: String,
        /// How much of its arguments there is.
        bytes: i64,
    },
    /// The provider, which is asked again.
    Provider {
        /// Why, by the stable name of what went wrong.
        code: String,
        /// In how many seconds, counted from when this was heard.
        seconds: u64,
        /// Which attempt that will be, of how many.
        attempt: u32,
        attempts: u32,
    },
}

impl Waiting {
    /// What an answer waits for while its model does this.
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
