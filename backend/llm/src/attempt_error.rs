//! The failure of one attempt to send a request, and whether a retry may help. The wait before a retry is in
//! `retry_policy`.

use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;

use super::{error::ModelError, limits::MAX_RETRY_AFTER, retry_after};

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
        if let (Retry::Backoff, Some(delay)) = (self.retry, retry_after::find(headers, SystemTime::now())) {
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

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderMap, HeaderValue, RETRY_AFTER};

    use super::{AttemptError, Retry};
    use crate::{ModelError, http_error, reason::Reason};

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
        let out_of_credit = http_error::from_status(429, &Reason::of("insufficient_quota"), "m");
        assert_eq!(AttemptError::from(out_of_credit).retry, Retry::Never);
        let headers: HeaderMap = [(RETRY_AFTER, HeaderValue::from_static("1"))].into_iter().collect();
        let patient =
            AttemptError::from(http_error::from_status(400, &Reason::default(), "m")).with_retry_after(&headers);
        assert_eq!(patient.retry, Retry::Never);
    }
}
