//! Limits of one user, so that one user's requests do not delay those of other users. Pure; `admission` counts usage
//! and enforces the limits.

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::{
    budget::BudgetUsedUp,
    limits::QUARTERS,
    store::usage::{Use, UsedUp},
};

/// Window in which messages are counted.
pub(crate) const MINUTE: Duration = Duration::from_mins(1);
/// Window in which tokens are counted.
pub(crate) const DAY: Duration = Duration::from_hours(24);

/// Advised wait, in seconds, if a request is refused because of running turns. It is not known when one of them will
/// end.
const TURN_WAIT_SECS: u64 = 5;

/// Limits of one user; 0 means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserLimits {
    /// Maximum number of concurrent turns. A turn that waits for approval does not count.
    pub turns: u32,
    /// Maximum number of turns that begin or resume within a minute. A copy of a conversation counts as a turn, and
    /// other requests that call a model count by their weight.
    pub messages_per_minute: u32,
    /// Tokens that models may read and write within 24 hours. When they are used up, no turn begins.
    pub tokens_per_day: u64,
}

/// Weight of a request against the limit of messages per minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// A whole message: a turn, or a direct model call.
    Message,
    /// A quarter of a message: a background task of an API client. One message causes several of these.
    Task,
}

impl Weight {
    pub(crate) fn quarters(self) -> i64 {
        match self {
            Self::Message => QUARTERS,
            Self::Task => 1,
        }
    }
}

impl UserLimits {
    /// Returns the longest window in which usage is counted; zero without limits.
    pub fn longest_window(self) -> Duration {
        match self {
            Self { tokens_per_day: 1.., .. } => DAY,
            Self { messages_per_minute: 1.., .. } => MINUTE,
            _ => Duration::ZERO,
        }
    }
}

/// A limit that a user has reached. The messages are shown to the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reached {
    /// The maximum number of turns is running.
    #[error(
        "The maximum number of your answers ({limit}) is being written. Wait for one of them to end, or stop it; \
         then try again."
    )]
    Turns {
        /// The limit.
        limit: u32,
    },
    /// The maximum number of messages within a minute was sent.
    #[error("You have sent the maximum number of messages per minute ({limit}). Try again in {} seconds.", wait.as_secs())]
    Messages {
        /// The limit.
        limit: u32,
        /// Time until another message can be sent.
        wait: Duration,
    },
    /// The tokens for 24 hours are used up.
    #[error(
        "Your tokens of the last 24 hours are used up ({limit}). Try again in about {} hours, or ask an admin for more.",
        wait.as_secs().div_ceil(3600)
    )]
    Tokens {
        /// The limit.
        limit: u64,
        /// Time until the oldest usage no longer counts.
        wait: Duration,
    },
    /// A budget is used up.
    #[error("{0}")]
    Budget(#[from] BudgetUsedUp),
    /// The rest of the tokens for 24 hours is reserved for model calls in progress.
    #[error(
        "Your remaining tokens for 24 hours ({limit}) are reserved for answers that are being written. Wait for one of \
         them to end, then try again."
    )]
    Reserved {
        /// The limit.
        limit: u64,
    },
}

impl Reached {
    /// Returns the number of seconds after which a retry makes sense.
    pub fn retry_after_secs(self) -> u64 {
        match self {
            Self::Turns { .. } | Self::Reserved { .. } => TURN_WAIT_SECS,
            Self::Budget(used_up) if used_up.is_reserved => TURN_WAIT_SECS,
            Self::Budget(used_up) => used_up.reset_secs(),
            Self::Messages { wait, .. } | Self::Tokens { wait, .. } => wait.as_secs(),
        }
    }
}

impl UserLimits {
    /// Returns `true` if all limits are off.
    pub(crate) fn is_none(self) -> bool {
        self == Self::default()
    }

    /// Returns the limit that one more request of this weight would exceed, or `None`. A new turn is already counted
    /// among the running turns.
    pub(crate) fn reached(self, used: UsedUp, weight: Weight, time: DateTime<Utc>) -> Option<Reached> {
        let Self { turns, messages_per_minute, tokens_per_day } = self;
        let UsedUp { turns: running, message_quarters, tokens, reserved_tokens } = used;
        if turns > 0 && running > i64::from(turns) {
            return Some(Reached::Turns { limit: turns });
        }
        let quarters = message_quarters.used.saturating_add(weight.quarters());
        if messages_per_minute > 0 && quarters > i64::from(messages_per_minute) * QUARTERS {
            return Some(Reached::Messages { limit: messages_per_minute, wait: wait(message_quarters, MINUTE, time) });
        }
        let is_used_up = |tokens: i64| tokens_per_day > 0 && u64::try_from(tokens).unwrap_or(0) >= tokens_per_day;
        if is_used_up(tokens.used) {
            return Some(Reached::Tokens { limit: tokens_per_day, wait: wait(tokens, DAY, time) });
        }
        is_used_up(tokens.used.saturating_add(reserved_tokens)).then_some(Reached::Reserved { limit: tokens_per_day })
    }
}

/// Returns how long the oldest usage in the window still counts: at least one second, at most the window.
fn wait(used: Use, window: Duration, time: DateTime<Utc>) -> Duration {
    let free_at = used.since.unwrap_or(time) + window;
    (free_at - time).to_std().unwrap_or_default().clamp(Duration::from_secs(1), window)
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use tallybook_database::now;

    use crate::user_limits::{Reached, Use, UsedUp, UserLimits, Weight};

    #[test]
    fn a_reached_limit_says_when_to_retry() {
        let time = now();
        let row = |used, seconds| Use { used, since: Some(time - TimeDelta::seconds(seconds)) };
        let limits = UserLimits { turns: 2, messages_per_minute: 3, tokens_per_day: 100 };
        let used = UsedUp { turns: 2, message_quarters: row(8, 50), tokens: row(99, 3600), reserved_tokens: 0 };
        assert_eq!(limits.reached(used, Weight::Message, time), None);
        let reached = |used| limits.reached(used, Weight::Message, time).unwrap();
        assert_eq!(reached(UsedUp { turns: 3, ..used }), Reached::Turns { limit: 2 });
        let quarters = |used_quarters| UsedUp { message_quarters: row(used_quarters, 50), ..used };
        assert_eq!(reached(quarters(9)).retry_after_secs(), 10);
        assert_eq!(limits.reached(quarters(11), Weight::Task, time), None);
        assert_eq!(limits.reached(quarters(12), Weight::Task, time), Some(reached(quarters(12))));
        assert_eq!(reached(UsedUp { reserved_tokens: 1, ..used }), Reached::Reserved { limit: 100 });
        let tokens = reached(UsedUp { tokens: row(100, 3600), ..used });
        assert_eq!(tokens.retry_after_secs(), 23 * 3600);
        assert!(tokens.to_string().contains("about 23 hours"), "{tokens}");
        let much = UsedUp { turns: 99, message_quarters: row(99, 1), tokens: row(999, 1), reserved_tokens: 999 };
        assert_eq!(UserLimits::default().reached(much, Weight::Message, time), None);
    }
}
