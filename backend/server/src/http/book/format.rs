//! How times, durations and sizes are written.

use chrono::{DateTime, Utc};

/// A time to the second. Everybody who reads the book with others reads the same.
pub(super) fn time(at: &DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M:%S").to_string()
}

/// The same for programs.
pub(super) fn datetime(at: &DateTime<Utc>) -> String {
    at.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A duration, as exactly as it matters.
pub(super) fn duration(ms: i64) -> String {
    let tenths = |amount: i64, unit: i64| (amount / unit, amount % unit * 10 / unit);
    match ms {
        ..1000 => format!("{ms} ms"),
        1000..60_000 => {
            let (seconds, tenth) = tenths(ms, 1000);
            format!("{seconds}.{tenth} s")
        }
        60_000..3_600_000 => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1000),
        _ => format!("{} h {} min", ms / 3_600_000, ms % 3_600_000 / 60_000),
    }
}

/// A number of bytes.
pub(super) fn bytes(bytes: i64) -> String {
    match bytes {
        ..1000 => format!("{bytes} B"),
        1000..1_000_000 => format!("{}.{} kB", bytes / 1000, bytes % 1000 / 100),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
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
    use super::{bytes, cost, duration, number};

    #[test]
    fn figures_are_as_exact_as_matters() {
        let durations = [(0, "0 ms"), (999, "999 ms"), (1050, "1.0 s"), (59_999, "59.9 s"), (61_000, "1 min 1 s")];
        for (ms, written) in durations {
            assert_eq!(duration(ms), written);
        }
        assert_eq!(duration(3_660_000), "1 h 1 min");
        assert_eq!([bytes(0), bytes(1234), bytes(2_500_000)], ["0 B", "1.2 kB", "2.5 MB"]);
        assert_eq!(cost(1_234_567_890), "1.234567");
        assert_eq!([number(7), number(1234), number(1_234_567)], ["7", "1,234", "1,234,567"]);
    }
}
