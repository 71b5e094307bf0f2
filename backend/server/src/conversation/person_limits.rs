//! How much one person may have answered, so that nobody keeps others from being answered. Pure; it is counted and held in
//! `allowance`.

use std::time::Duration;

use chrono::{DateTime, Utc};

use super::{
    limits::QUARTERS,
    store::usage::{UseRow, UsedUp},
};

/// Within which messages are counted, and within which tokens.
pub(super) const MINUTE: Duration = Duration::from_mins(1);
pub(super) const DAY: Duration = Duration::from_hours(24);

/// When one may try again who has as many turns running as may be. Nobody knows when one of them ends.
const TURN_WAIT_SECS: u64 = 5;

/// What one person may use up; 0 is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PersonLimits {
    /// Turns that run at the same time. One that waits for consent does not run.
    pub turns: u32,
    /// Answers that begin or continue within a minute, and other requests that call a model, by their weight.
    pub messages_per_minute: u32,
    /// Tokens that models read and write within 24 hours, above which no answer begins.
    pub tokens_per_day: u64,
}

/// Weight of a request against the limit of messages per minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// A whole message: an answer, or a model that is asked once.
    Message,
    /// A quarter: a background task of an API client, of which one message causes several.
    Task,
}

impl Weight {
    pub(super) fn quarters(self) -> i64 {
        match self {
            Self::Message => QUARTERS,
            Self::Task => 1,
        }
    }
}

impl PersonLimits {
    /// How far back is counted; not at all without limits.
    pub(crate) fn longest_window(self) -> Duration {
        match self {
            Self { tokens_per_day: 1.., .. } => DAY,
            Self { messages_per_minute: 1.., .. } => MINUTE,
            _ => Duration::ZERO,
        }
    }
}

/// A limit that a person has reached. The words are for the person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reached {
    /// As many turns run as may.
    #[error(
        "As many of your answers are being written as may be at once ({limit}). Wait for one of them to end, or stop it; \
         then try again."
    )]
    Turns {
        /// How many that are.
        limit: u32,
    },
    /// As many answers began as may within a minute.
    #[error("You have sent as many messages as may be within a minute ({limit}). Try again in {} seconds.", wait.as_secs())]
    Messages {
        /// How many that are.
        limit: u32,
        /// When there is room again.
        wait: Duration,
    },
    /// The tokens of a day are used up.
    #[error(
        "Your tokens of the last 24 hours are used up ({limit}). Try again in about {} hours, or ask an admin for more.",
        wait.as_secs().div_ceil(3600)
    )]
    Tokens {
        /// How many that are.
        limit: u64,
        /// When there is room again.
        wait: Duration,
    },
    /// The rest of the tokens of a day is reserved for model calls in progress.
    #[error(
        "What is left of your tokens for 24 hours ({limit}) is reserved for answers that are being written. Wait for one of \
         them to end, then try again."
    )]
    Reserved {
        /// Number for a day.
        limit: u64,
    },
}

impl Reached {
    /// Seconds until it is worth trying again.
    pub fn retry_after_secs(self) -> u64 {
        match self {
            Self::Turns { .. } | Self::Reserved { .. } => TURN_WAIT_SECS,
            Self::Messages { wait, .. } | Self::Tokens { wait, .. } => wait.as_secs(),
        }
    }
}

impl PersonLimits {
    /// Whether there is no limit at all.
    pub(super) fn is_none(self) -> bool {
        self == Self::default()
    }

    /// Returns the limit that one more request of this weight exceeds. A turn is among those that run already.
    pub(super) fn reached(self, used: UsedUp, weight: Weight, time: DateTime<Utc>) -> Option<Reached> {
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

/// How long the oldest of it counts.
fn wait(used: UseRow, window: Duration, time: DateTime<Utc>) -> Duration {
    let free_at = used.since.unwrap_or(time) + window;
    (free_at - time).to_std().unwrap_or_default().clamp(Duration::from_secs(1), window)
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use tallybook_database::now;

    use super::{PersonLimits, Reached, UseRow, UsedUp, Weight};

    #[test]
    fn a_limit_is_reached_and_says_when_there_is_room() {
        let time = now();
        let row = |used, seconds| UseRow { used, since: Some(time - TimeDelta::seconds(seconds)) };
        let limits = PersonLimits { turns: 2, messages_per_minute: 3, tokens_per_day: 100 };
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
        assert_eq!(PersonLimits::default().reached(much, Weight::Message, time), None);
    }
}
