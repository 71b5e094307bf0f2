//! The number of retries and the waits between them. The decision whether a retry may help is in `attempt_error`;
//! `retry` makes the attempts.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};

use super::{attempt_error::Retry, limits::MAX_RETRY_AFTER};

/// The number of retries and the waits between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// `LLM_MAX_RETRIES`: maximum number of attempts after the first one.
    pub retries: u32,
    /// Minimum wait before the second attempt. Each later wait is about twice as long.
    pub first_delay: Duration,
    /// Maximum wait that this policy chooses. A provider may request a longer one.
    pub max_delay: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { retries: 3, first_delay: Duration::from_millis(500), max_delay: Duration::from_secs(8) }
    }
}

/// The waits of one request, attempt by attempt.
#[derive(Debug)]
pub(crate) struct Backoff(ExponentialBackoff);

impl RetryPolicy {
    pub(crate) fn backoff(&self) -> Backoff {
        let builder = ExponentialBuilder::new()
            .with_max_times(usize::try_from(self.retries).unwrap_or(usize::MAX))
            .with_min_delay(self.first_delay)
            // Jitter adds up to the same amount again, so that replicas do not all retry at once.
            .with_max_delay(self.first_delay.max(self.max_delay / 2))
            .with_jitter();
        Backoff(builder.build())
    }
}

impl Backoff {
    /// Returns the wait after a failed attempt. Returns `None` if no attempts are left, if a retry would not help, or
    /// if the provider requests a wait that is too long.
    pub(crate) fn next_delay(&mut self, retry: Retry) -> Option<Duration> {
        let own = self.0.next()?;
        match retry {
            Retry::Never => None,
            Retry::Backoff => Some(own),
            Retry::After(delay) => (delay <= MAX_RETRY_AFTER).then_some(delay),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Retry, RetryPolicy};

    #[test]
    fn waits_double_from_half_a_second_to_eight_and_vary() {
        let delays = || {
            let mut backoff = RetryPolicy { retries: 6, ..RetryPolicy::default() }.backoff();
            std::iter::from_fn(move || backoff.next_delay(Retry::Backoff)).collect::<Vec<_>>()
        };
        let many: Vec<Vec<Duration>> = (0..50).map(|_| delays()).collect();
        for delays in &many {
            assert_eq!(delays.len(), 6);
            for (delay, base) in delays.iter().zip([500, 1000, 2000, 4000, 4000, 4000]) {
                let base = Duration::from_millis(base);
                assert!((base..=2 * base).contains(delay), "{delay:?} is not between {base:?} and twice that");
            }
        }
        assert!(many.iter().any(|delays| *delays != many[0]), "all waits are alike");
    }

    #[test]
    fn the_providers_wait_is_honored_up_to_a_minute() {
        let mut backoff = RetryPolicy { retries: 5, ..RetryPolicy::default() }.backoff();
        let mut delay = |seconds| backoff.next_delay(Retry::After(Duration::from_secs(seconds)));
        assert_eq!((delay(0), delay(60), delay(61)), (Some(Duration::ZERO), Some(Duration::from_mins(1)), None));
        assert_eq!(backoff.next_delay(Retry::After(Duration::MAX)), None);
        assert_eq!(backoff.next_delay(Retry::Never), None);
        assert_eq!(backoff.next_delay(Retry::Backoff), None, "the retries are used up");
    }

    #[test]
    fn any_policy_gives_waits() {
        let never = RetryPolicy { retries: 0, ..RetryPolicy::default() };
        assert_eq!(never.backoff().next_delay(Retry::Backoff), None);
        let eager = RetryPolicy { retries: u32::MAX, ..RetryPolicy::default() };
        let mut backoff = eager.backoff();
        for _ in 0..100_000 {
            assert!(backoff.next_delay(Retry::Backoff) <= Some(eager.max_delay));
        }
        let at_once = RetryPolicy { retries: 1, first_delay: Duration::ZERO, max_delay: Duration::ZERO };
        assert_eq!(at_once.backoff().next_delay(Retry::Backoff), Some(Duration::ZERO));
    }
}
