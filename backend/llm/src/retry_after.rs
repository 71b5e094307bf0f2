//! Reads the wait that a provider requests in its response headers.

use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, RETRY_AFTER};

/// Returns the wait in `retry-after-ms`, or in `Retry-After` (seconds or a date). Returns `None` if neither header is
/// present and valid. A number that exceeds a [`Duration`] gives the longest `Duration`, and a date in the past gives
/// zero.
pub(crate) fn find(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
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

    use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

    use super::find;

    fn found(pairs: &[(&'static str, &str)]) -> Option<Duration> {
        // Wed, 21 Oct 2015 07:27:30 GMT
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_445_412_450);
        let pairs = pairs.iter();
        let headers: HeaderMap = pairs
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_bytes(value.as_bytes()).unwrap()))
            .collect();
        find(&headers, now)
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
