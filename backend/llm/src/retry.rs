//! Decides whether a failed attempt to send a request is retried, and after which wait. The attempts are in `http`.

use std::time::{Duration, SystemTime};

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};
use reqwest::header::{HeaderMap, RETRY_AFTER};

use super::{error::ModelError, limits::MAX_RETRY_AFTER};

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

/// The decision whether and when to retry a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retry {
    /// Never: the same request would fail the same way.
    Never,
    /// After the next wait of the retry policy.
    Backoff,
    /// After the wait that the provider requests.
    After(Duration),
}

/// The failure of an attempt.
#[derive(Debug)]
pub(crate) struct AttemptError {
    pub(crate) error: ModelError,
    pub(crate) retry: Retry,
}

impl From<ModelError> for AttemptError {
    fn from(error: ModelError) -> Self {
        // A retry may help after a timeout, too: a proxy may have dropped the request, or the model's machine may have
        // failed.
        let passing = matches!(
            error,
            ModelError::Busy { .. }
                | ModelError::Failing { .. }
                | ModelError::Unreachable { .. }
                | ModelError::Timeout { .. }
        );
        Self { error, retry: if passing { Retry::Backoff } else { Retry::Never } }
    }
}

impl AttemptError {
    /// Creates the failure of an aborted answer. A retry may return the complete answer.
    pub(crate) fn aborted(error: ModelError) -> Self {
        Self { error, retry: Retry::Backoff }
    }

    /// Replaces the backoff with the wait that the response headers request. If that wait is too long, the message of a
    /// `Busy` or `Failing` error says so.
    pub(crate) fn with_retry_after(mut self, headers: &HeaderMap) -> Self {
        if let (Retry::Backoff, Some(delay)) = (self.retry, requested_wait(headers, SystemTime::now())) {
            self.retry = Retry::After(delay);
            if let ModelError::Busy { detail } | ModelError::Failing { detail } = &mut self.error
                && delay > MAX_RETRY_AFTER
            {
                *detail = format!("{detail}; the provider asks to wait {}", in_words(delay));
            }
        }
        self
    }
}

fn in_words(delay: Duration) -> String {
    if delay > Duration::from_hours(24) { "for more than a day".to_owned() } else { format!("{} s", delay.as_secs()) }
}

/// Returns the wait in `retry-after-ms`, or in `Retry-After` (seconds or a date). Returns `None` if neither header is
/// present and valid. A number that exceeds a [`Duration`] gives the longest `Duration`, and a date in the past gives
/// zero.
fn requested_wait(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let value = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let millis = value("retry-after-ms").and_then(|text| number_of(text, 0.001));
    millis.or_else(|| value(RETRY_AFTER.as_str()).and_then(|text| number_of(text, 1.0).or_else(|| until(text, now))))
}

fn number_of(text: &str, unit_seconds: f64) -> Option<Duration> {
    // Rust also parses `inf`, `NaN` and signs.
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let seconds = text.parse::<f64>().ok()? * unit_seconds;
    Some(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

fn until(date: &str, now: SystemTime) -> Option<Duration> {
    Some(httpdate::parse_http_date(date).ok()?.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use reqwest::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};

    use super::{AttemptError, Retry, RetryPolicy, requested_wait};
    use crate::{ModelError, http_error, reason::Reason};

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

    #[test]
    fn only_temporary_errors_are_retried() {
        let retry = |status| AttemptError::from(http_error::from_status(status, &Reason::default(), "m")).retry;
        for status in [408, 409, 429, 500, 502, 503, 504, 529] {
            assert_eq!(retry(status), Retry::Backoff, "{status}");
        }
        for status in [301, 400, 401, 402, 403, 404, 413, 422] {
            assert_eq!(retry(status), Retry::Never, "{status}");
        }
        assert_eq!(AttemptError::from(ModelError::Timeout { seconds: 60 }).retry, Retry::Backoff);
        let out_of_credit = http_error::from_status(429, &Reason::from_text("insufficient_quota"), "m");
        assert_eq!(AttemptError::from(out_of_credit).retry, Retry::Never);
        let headers: HeaderMap = [(RETRY_AFTER, HeaderValue::from_static("1"))].into_iter().collect();
        let refused =
            AttemptError::from(http_error::from_status(400, &Reason::default(), "m")).with_retry_after(&headers);
        assert_eq!(refused.retry, Retry::Never);
    }

    fn found(pairs: &[(&'static str, &str)]) -> Option<Duration> {
        // Wed, 21 Oct 2015 07:27:30 GMT
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_445_412_450);
        let pairs = pairs.iter();
        let headers: HeaderMap = pairs
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_bytes(value.as_bytes()).unwrap()))
            .collect();
        requested_wait(&headers, now)
    }

    #[test]
    fn milliseconds_come_before_seconds_and_dates() {
        let millis = |pairs| found(pairs).map(|delay| delay.as_millis());
        assert_eq!(millis(&[("retry-after-ms", "250"), ("retry-after", "9")]), Some(250));
        assert_eq!(millis(&[("retry-after-ms", "soon"), ("retry-after", "9")]), Some(9000));
        assert_eq!(millis(&[("retry-after", " 1.5 ")]), Some(1500));
        assert_eq!(millis(&[("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT")]), Some(30_000));
        assert_eq!(millis(&[("retry-after", "Wednesday, 21-Oct-15 07:28:00 GMT")]), Some(30_000));
        assert_eq!(millis(&[("retry-after", "Wed Oct 21 07:28:00 2015")]), Some(30_000));
        assert_eq!(millis(&[("retry-after", "Wed, 21 Oct 2015 07:00:00 GMT")]), Some(0));
        assert_eq!(millis(&[]), None);
    }

    #[test]
    fn invalid_values_are_ignored() {
        for nonsense in ["-1", "+1", "NaN", "inf", "infinity", "", "later", "99 Foo 2015", "1,000", "0x10", "１"] {
            assert_eq!(found(&[("retry-after", nonsense)]), None, "{nonsense:?}");
            assert_eq!(found(&[("retry-after-ms", nonsense)]), None, "{nonsense:?}");
        }
    }

    #[test]
    fn huge_numbers_are_the_maximum_wait() {
        let digits = "9".repeat(5000);
        for huge in ["1000000000000000000000000000000", "1e999", digits.as_str()] {
            assert_eq!(found(&[("retry-after", huge)]), Some(Duration::MAX));
            assert!(found(&[("retry-after-ms", huge), ("retry-after", "1")]) > Some(Duration::from_hours(9)));
        }
        assert_eq!(found(&[("retry-after", "1e-999")]), Some(Duration::ZERO));
    }
}
