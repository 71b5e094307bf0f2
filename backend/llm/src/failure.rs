//! Why one attempt to ask a provider failed, and whether another may help. How long to wait before it is in
//! `retry_policy`.

use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;

use super::{error::ModelError, limits::MAX_RETRY_AFTER, retry_after};

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
    /// The answer broke off: asked again, it may come to its end.
    pub(super) fn broken_off(error: ModelError) -> Self {
        Self { error, again: Again::Yes }
    }

    /// The same, with the wait that the answer's headers ask for.
    pub(super) fn with_retry_after(mut self, headers: &HeaderMap) -> Self {
        if let (Again::Yes, Some(delay)) = (self.again, retry_after::find(headers, SystemTime::now())) {
            self.again = Again::After(delay);
            if let ModelError::Busy { detail } = &mut self.error
                && delay > MAX_RETRY_AFTER
            {
                *detail = format!("{detail}; it asks to wait {}", in_words(delay));
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

    use super::{Again, Failure};
    use crate::{ModelError, http_error};

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
        let headers: HeaderMap = [(RETRY_AFTER, HeaderValue::from_static("1"))].into_iter().collect();
        let patient = Failure::from(http_error::from_status(400, "", "m")).with_retry_after(&headers);
        assert_eq!(patient.again, Again::No);
    }
}
