//! Numbers and times as people read them. Pure; nothing here knows the current time.

use crate::language::Language;

/// How long something took: `<1s`, `3.4s`, `42s`, `2m 5s`, `1h 2m`; in Japanese `<1秒`, `2分5秒`. Rounded down, so that no
/// unit overflows.
pub fn duration(language: Language, ms: i64) -> String {
    let [second, minute, hour, gap] = match language {
        Language::English => ["s", "m", "h", " "],
        Language::Japanese => ["秒", "分", "時間", ""],
    };
    let ms = ms.max(0);
    let seconds = ms / 1000;
    match seconds {
        0 => format!("<1{second}"),
        1..10 => format!("{seconds}.{}{second}", ms % 1000 / 100),
        10..60 => format!("{seconds}{second}"),
        60..3600 => format!("{}{minute}{gap}{}{second}", seconds / 60, seconds % 60),
        _ => format!("{}{hour}{gap}{}{minute}", seconds / 3600, seconds % 3600 / 60),
    }
}

/// A count with its thousands set apart, as both languages write it: `48,210`.
pub fn count(number: usize) -> String {
    grouped(&number.to_string())
}

/// The same of a count as the wire carries it. Less than nothing is nothing.
pub fn count_of(number: i64) -> String {
    grouped(&number.max(0).to_string())
}

fn grouped(digits: &str) -> String {
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// The first `limit` characters of `text`, and whether there are more.
pub fn beginning(text: &str, limit: usize) -> (&str, bool) {
    match text.char_indices().nth(limit) {
        Some((end, _)) => (&text[..end], true),
        None => (text, false),
    }
}

#[cfg(test)]
mod tests {
    use super::{beginning, count, count_of, duration};
    use crate::language::Language;

    #[test]
    fn durations() {
        let expected = [
            (-5, "<1s"),
            (0, "<1s"),
            (999, "<1s"),
            (1000, "1.0s"),
            (3_456, "3.4s"),
            (9_999, "9.9s"),
            (10_000, "10s"),
            (59_999, "59s"),
            (60_000, "1m 0s"),
            (125_000, "2m 5s"),
            (3_725_000, "1h 2m"),
        ];
        for (ms, text) in expected {
            assert_eq!(duration(Language::English, ms), text, "{ms} ms");
        }
        let expected = [(0, "<1秒"), (3_456, "3.4秒"), (42_000, "42秒"), (125_000, "2分5秒"), (3_725_000, "1時間2分")];
        for (ms, text) in expected {
            assert_eq!(duration(Language::Japanese, ms), text, "{ms} ms");
        }
    }

    #[test]
    fn counts() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (48_210, "48,210"), (1_234_567, "1,234,567")] {
            assert_eq!(count(number), text);
        }
        assert_eq!((count_of(12_345).as_str(), count_of(-1).as_str()), ("12,345", "0"));
    }

    #[test]
    fn beginnings_end_between_characters() {
        assert_eq!(beginning("計算です", 2), ("計算", true));
        assert_eq!(beginning("計算", 2), ("計算", false));
    }
}
