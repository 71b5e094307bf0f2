//! Asks a provider again when that is likely to help: what is worth another attempt, how long to wait before it, and the
//! limits of both. One attempt is in `http`.

use std::{pin::pin, sync::Arc, time::Duration};

use async_stream::try_stream;
use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures_util::StreamExt as _;
use reqwest::header::{HeaderMap, RETRY_AFTER};

use super::{
    ModelError, ModelEvent, ModelStream,
    endpoint::Endpoint,
    http,
    reader::{StreamReader, bad_stream},
};

/// The longest wait that a provider may ask for; beyond it a person should decide.
const LONGEST_ASKED_FOR: Duration = Duration::from_mins(1);

/// How often and how soon a provider is asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// `LLM_MAX_RETRIES`: how many attempts may follow the first.
    pub retries: u32,
    /// The wait before the second attempt; each later one waits twice as long.
    pub first_delay: Duration,
    /// The longest wait that is chosen here.
    pub longest_delay: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { retries: 3, first_delay: Duration::from_millis(500), longest_delay: Duration::from_secs(8) }
    }
}

/// Whether another attempt may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    /// The same question would fail the same way.
    No,
    /// After a while.
    Yes,
    /// After the time that the provider asks for.
    After(Duration),
}

/// Why an attempt failed.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: ModelError,
    pub(super) again: Again,
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        let passing = matches!(error, ModelError::Busy { .. } | ModelError::Unreachable { .. });
        Self { error, again: if passing { Again::Yes } else { Again::No } }
    }
}

impl Failure {
    /// The same, with the wait that the answer's headers ask for.
    pub(super) fn heeding(mut self, headers: &HeaderMap) -> Self {
        if let (Again::Yes, Some(delay)) = (self.again, asked_for(headers, Utc::now())) {
            self.again = Again::After(delay);
            if let ModelError::Busy { detail } = &mut self.error
                && delay > LONGEST_ASKED_FOR
            {
                *detail = format!("{detail}; it asks to wait {} s", delay.as_secs());
            }
        }
        self
    }
}

impl RetryPolicy {
    /// How long to wait after this attempt (from 1) failed, or `None` when it was the last. `chance` is from 0 to 1 and
    /// keeps many servers from coming back in step.
    fn delay(&self, attempt: u32, again: Again, chance: f64) -> Option<Duration> {
        if attempt > self.retries {
            return None;
        }
        match again {
            Again::No => None,
            Again::After(delay) => (delay <= LONGEST_ASKED_FOR).then_some(delay),
            Again::Yes => {
                let doubled = self.first_delay.saturating_mul(2_u32.saturating_pow(attempt.saturating_sub(1)));
                Some(doubled.min(self.longest_delay).mul_f64(1.0 - chance / 4.0))
            }
        }
    }
}

/// Asks, again if need be, and streams the answer. Nothing that was handed on is ever taken back: after the first text
/// or call a failure is final.
pub(super) fn stream<R: StreamReader + 'static>(
    endpoint: Arc<Endpoint>,
    body: Result<String, serde_json::Error>,
    reader: impl Fn() -> R + Send + 'static,
) -> ModelStream {
    let events = try_stream! {
        let body = body.map_err(|error| bad_stream(format!("the question cannot be written as JSON ({error})")))?;
        let body = Bytes::from(body);
        let mut attempt = 1;
        loop {
            let mut answer = pin!(http::ask(endpoint.clone(), body.clone(), reader()));
            let mut handed_on = false;
            let failure = loop {
                match answer.next().await {
                    Some(Ok(event)) => {
                        handed_on |= !matches!(event, ModelEvent::Opaque(_));
                        yield event;
                    }
                    Some(Err(failure)) => break failure,
                    None => return,
                }
            };
            let again = if handed_on { Again::No } else { failure.again };
            let Some(delay) = endpoint.retries.delay(attempt, again, chance()) else {
                Err(failure.error)?;
                return;
            };
            tracing::warn!(
                address = endpoint.address,
                model = endpoint.model,
                attempt,
                attempts = endpoint.retries.retries.saturating_add(1),
                delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
                error = %failure.error,
                "the model could not be asked; trying again"
            );
            tokio::time::sleep(delay).await;
            attempt += 1;
            yield ModelEvent::Attempt(attempt);
        }
    };
    events.boxed()
}

/// The wait that a provider asks for: `retry-after-ms`, else `Retry-After` in seconds or as a date.
fn asked_for(headers: &HeaderMap, now: DateTime<Utc>) -> Option<Duration> {
    let value = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let number = |text: &str, unit: f64| {
        let number: f64 = text.parse().ok()?;
        Duration::try_from_secs_f64(number * unit).ok()
    };
    let date = |text: &str| {
        let until = DateTime::parse_from_rfc2822(text).ok()?.with_timezone(&Utc);
        Some((until - now).to_std().unwrap_or_default())
    };
    let millis = value("retry-after-ms").and_then(|text| number(text, 0.001));
    millis.or_else(|| value(RETRY_AFTER.as_str()).and_then(|text| number(text, 1.0).or_else(|| date(text))))
}

/// A number from 0 to 1. The first field of a random UUID is random in all its bits.
fn chance() -> f64 {
    f64::from(uuid::Uuid::new_v4().as_fields().0) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use chrono::{TimeZone as _, Utc};
    use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

    use super::{Again, Failure, RetryPolicy, asked_for, chance};
    use crate::llm::{ModelError, http_error};

    #[test]
    fn waits_double_from_half_a_second_to_eight_and_vary() {
        let policy = RetryPolicy { retries: 6, ..RetryPolicy::default() };
        let millis = |attempt, chance| policy.delay(attempt, Again::Yes, chance).map(|delay| delay.as_millis());
        let longest: Vec<_> = (1..=7).map(|attempt| millis(attempt, 0.0)).collect();
        let expected = [Some(500), Some(1000), Some(2000), Some(4000), Some(8000), Some(8000), None];
        assert_eq!(longest, expected);
        assert_eq!((millis(1, 1.0), millis(6, 1.0)), (Some(375), Some(6000)));
        let chances: Vec<f64> = (0..100).map(|_| chance()).collect();
        assert!(chances.iter().all(|chance| (0.0..=1.0).contains(chance)));
        assert!(chances.iter().any(|chance| (chance - chances[0]).abs() > 0.01));
        let eager = RetryPolicy { retries: u32::MAX, ..policy };
        assert_eq!(eager.delay(1_000_000, Again::Yes, 0.0), Some(policy.longest_delay));
    }

    #[test]
    fn what_the_provider_asks_for_is_obeyed_up_to_a_minute() {
        let policy = RetryPolicy::default();
        let delay = |seconds| policy.delay(1, Again::After(Duration::from_secs(seconds)), 0.5);
        assert_eq!((delay(0), delay(60), delay(61)), (Some(Duration::ZERO), Some(Duration::from_mins(1)), None));
        assert_eq!(policy.delay(4, Again::After(Duration::ZERO), 0.5), None);
        assert_eq!(policy.delay(1, Again::No, 0.5), None);
    }

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs.iter();
        pairs.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn retry_after_in_milliseconds_seconds_and_as_a_date() {
        let now = Utc.with_ymd_and_hms(2015, 10, 21, 7, 27, 30).unwrap();
        let millis = |pairs| asked_for(&headers(pairs), now).map(|delay| delay.as_millis());
        assert_eq!(millis(&[("retry-after-ms", "250"), ("retry-after", "9")]), Some(250));
        assert_eq!(millis(&[("retry-after-ms", "soon"), ("retry-after", "9")]), Some(9000));
        assert_eq!(millis(&[("retry-after", " 1.5 ")]), Some(1500));
        assert_eq!(millis(&[("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT")]), Some(30_000));
        assert_eq!(millis(&[("retry-after", "Wed, 21 Oct 2015 07:00:00 GMT")]), Some(0));
        for nonsense in ["-1", "NaN", "1e999", "", "later", "99 Foo 2015"] {
            let pairs = [("retry-after", nonsense)];
            assert_eq!(asked_for(&headers(&pairs), now), None, "{nonsense}");
        }
    }

    #[test]
    fn only_what_passes_by_itself_is_asked_again() {
        let again = |status| Failure::from(http_error::from_status(status, "", "m")).again;
        for status in [408, 409, 429, 500, 502, 503, 504, 529] {
            assert_eq!(again(status), Again::Yes, "{status}");
        }
        for status in [301, 400, 401, 402, 403, 404, 413, 422] {
            assert_eq!(again(status), Again::No, "{status}");
        }
        assert_eq!(Failure::from(ModelError::Timeout { seconds: 60 }).again, Again::No);
        let patient = Failure::from(http_error::from_status(400, "", "m")).heeding(&headers(&[("retry-after", "1")]));
        assert_eq!(patient.again, Again::No);
    }
}
