//! Formats numbers, durations, sizes and names for display, and divides long texts. Pure: nothing here reads the clock.

use std::borrow::Cow;

use crate::{invisible::escaped, language::Language};

/// Formats a duration in milliseconds: `340 ms`, `3.4s`, `42s`, `2m 5s`, `1h 2m`; in Japanese `3.4秒`, `2分5秒`. Rounds
/// down, so that no unit overflows.
pub fn duration(language: Language, ms: i64) -> String {
    let [second, minute, hour, gap] = match language {
        Language::English => ["s", "m", "h", " "],
        Language::Japanese => ["秒", "分", "時間", ""],
    };
    let ms = ms.max(0);
    let seconds = ms / 1000;
    match seconds {
        0 if ms == 0 => "<1 ms".to_owned(),
        0 => format!("{ms} ms"),
        1..10 => format!("{seconds}.{}{second}", ms % 1000 / 100),
        10..60 => format!("{seconds}{second}"),
        60..3600 => format!("{}{minute}{gap}{}{second}", seconds / 60, seconds % 60),
        _ => format!("{}{hour}{gap}{}{minute}", seconds / 3600, seconds % 3600 / 60),
    }
}

/// Formats a count with thousands separators, which both languages write the same way: `48,210`.
pub fn count(number: usize) -> String {
    grouped(&number.to_string())
}

/// Formats a count from an API response. Negative counts are shown as 0.
pub fn count_of(number: i64) -> String {
    grouped(&number.max(0).to_string())
}

/// Formats an amount of money given in billionths, without its currency: `1.25`, `0.0123`, `<0.0001`. Amounts below 1
/// have four decimal places, because answers cost fractions of a cent.
pub fn amount(nanos: i64) -> String {
    const UNIT: i64 = 1_000_000_000;
    match nanos {
        ..=0 => "0".to_owned(),
        1..100_000 => "<0.0001".to_owned(),
        100_000..UNIT => format!("0.{:04}", nanos / 100_000),
        _ => format!("{}.{:02}", count_of(nanos / UNIT), nanos % UNIT / 10_000_000),
    }
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

/// Formats a size in bytes: `312 bytes`, `48 kB`, `4.8 MB`. Rounded, since users only need its magnitude.
pub fn size(language: Language, bytes: i64) -> String {
    const KILO: i64 = 1000;
    const MEGA: i64 = KILO * KILO;
    let tenths_of_mega = (bytes + MEGA / 20) / (MEGA / 10);
    match (bytes, language) {
        (1, Language::English) => "1 byte".to_owned(),
        (..KILO, Language::English) => format!("{bytes} bytes"),
        (..KILO, Language::Japanese) => format!("{bytes}バイト"),
        _ if tenths_of_mega < 10 => format!("{} kB", (bytes + KILO / 2) / KILO),
        _ if tenths_of_mega % 10 == 0 || tenths_of_mega >= 100 => format!("{} MB", (tenths_of_mega + 5) / 10),
        _ => format!("{}.{} MB", tenths_of_mega / 10, tenths_of_mega % 10),
    }
}

/// Splits a text into blocks of at most `limit` bytes; `limit` must be at least 4. A block ends at a line end if its
/// second half contains one, and otherwise between two characters.
pub fn blocks(text: &str, limit: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let most = if rest.len() <= limit { rest.len() } else { rest.floor_char_boundary(limit) };
        let line_end = rest[..most].rfind('\n').map(|at| at + 1).filter(|end| *end > limit / 2);
        let end = if most == rest.len() { most } else { line_end.unwrap_or(most) };
        let block;
        (block, rest) = rest.split_at(end);
        Some(block)
    })
}

/// Returns the display name of a tool. A tool of a server, such as `files__read`, is shown as `files · read`. Names of
/// built-in tools contain no `__`. Hidden characters are escaped, since a model can request a name that no tool has.
pub fn tool_name(name: &str) -> Cow<'_, str> {
    match name.split_once("__") {
        Some((server, tool)) if !server.is_empty() && !tool.is_empty() => {
            Cow::Owned(format!("{} · {}", escaped(server), escaped(tool)))
        }
        _ => escaped(name),
    }
}

/// Returns the first `limit` characters of `text`, and `true` if there are more.
pub fn beginning(text: &str, limit: usize) -> (&str, bool) {
    match text.char_indices().nth(limit) {
        Some((end, _)) => (&text[..end], true),
        None => (text, false),
    }
}

/// Converts a text to lower case letter by letter, as searches compare letters. A sigma at the end of a word therefore
/// has no special form, for which the page would need tables.
pub(crate) fn lower(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{beginning, blocks, count, count_of, duration, size, tool_name};
    use crate::language::Language;

    #[test]
    fn durations() {
        let expected = [
            (-5, "<1 ms"),
            (0, "<1 ms"),
            (1, "1 ms"),
            (999, "999 ms"),
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
        let expected =
            [(340, "340 ms"), (3_456, "3.4秒"), (42_000, "42秒"), (125_000, "2分5秒"), (3_725_000, "1時間2分")];
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
    fn sizes() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (999, "999 bytes"),
            (1000, "1 kB"),
            (300_017, "300 kB"),
            (949_999, "950 kB"),
            (950_000, "1 MB"),
            (1_048_576, "1 MB"),
            (4_800_000, "4.8 MB"),
            (9_960_000, "10 MB"),
            (16_777_216, "17 MB"),
        ] {
            assert_eq!(size(Language::English, bytes), text, "{bytes}");
        }
        assert_eq!((size(Language::Japanese, 1), size(Language::Japanese, 1000)), ("1バイト".into(), "1 kB".into()));
    }

    #[test]
    fn tools_of_servers_are_shown_with_their_server() {
        for (name, shown) in [
            ("add", "add"),
            ("files__read", "files · read"),
            ("files__read__all", "files · read__all"),
            ("__add", "__add"),
            ("add__", "add__"),
        ] {
            assert_eq!(tool_name(name), shown);
        }
    }

    #[test]
    fn blocks_end_at_a_line_end_if_possible() {
        let of = |text: &'static str| blocks(text, 6).collect::<Vec<_>>();
        assert_eq!(of("abc\nde\nfghijklmn\n"), ["abc\n", "de\nfgh", "ijklmn", "\n"]);
        assert_eq!(of("計算です"), ["計算", "です"]);
        assert!(of("").is_empty());
    }

    proptest! {
        #[test]
        fn blocks_contain_the_complete_text(text in "[a計🙂\n]{0,40}", limit in 4_usize..20) {
            let blocks: Vec<&str> = blocks(&text, limit).collect();
            prop_assert_eq!(blocks.concat(), text.as_str());
            prop_assert!(blocks.iter().all(|block| !block.is_empty() && block.len() <= limit));
        }
    }

    #[test]
    fn beginnings_end_between_characters() {
        assert_eq!(beginning("計算です", 2), ("計算", true));
        assert_eq!(beginning("計算", 2), ("計算", false));
    }
}
