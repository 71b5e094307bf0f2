//! How times, costs and numbers are written, in either language. Durations and sizes are as in the chat (`words`).

use chrono::{DateTime, Utc};

/// A time to the second. Everybody who reads the book with others reads the same.
pub(super) fn time(at: &DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M:%S").to_string()
}

/// The same for programs.
pub(super) fn datetime(at: &DateTime<Utc>) -> String {
    at.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A cost, of which a billionth is one.
pub(super) fn cost(nanos: i64) -> String {
    format!("{}.{:06}", nanos / 1_000_000_000, nanos % 1_000_000_000 / 1000)
}

/// A number, in groups of three digits.
pub(super) fn number(number: i64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap_or_default()).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::{cost, number};

    #[test]
    fn figures_are_as_exact_as_matters() {
        assert_eq!(cost(1_234_567_890), "1.234567");
        assert_eq!([number(7), number(1234), number(1_234_567)], ["7", "1,234", "1,234,567"]);
    }
}
