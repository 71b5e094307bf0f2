//! Formats times, costs and numbers on the admin pages, the same in both languages. `i18n` formats durations and sizes,
//! as in the chat.

use chrono::{DateTime, Utc};

/// Formats a time in UTC, to the second. All admins see the same time.
pub(crate) fn time(at: &DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M:%S").to_string()
}

/// Formats a time as an HTML `datetime`.
pub(crate) fn datetime(at: &DateTime<Utc>) -> String {
    at.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Formats a cost, given in billionths of the currency, with six decimal places. A model without prices costs `0`.
pub(crate) fn cost(nanos: i64) -> String {
    if nanos == 0 {
        return "0".to_owned();
    }
    format!("{}.{:06}", nanos / 1_000_000_000, nanos % 1_000_000_000 / 1000)
}

/// Formats a number, with its digits in groups of three.
pub(crate) fn number(number: i64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap_or_default()).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::{cost, number};

    #[test]
    fn numbers_have_a_suitable_precision() {
        assert_eq!([cost(1_234_567_890), cost(0)], ["1.234567", "0"]);
        assert_eq!([number(7), number(1234), number(1_234_567)], ["7", "1,234", "1,234,567"]);
    }
}
