//! Finds numbers in a text. They are compared digit by digit, never as floats.

/// Returns `true` if the text contains a number equal to `expected`.
pub(super) fn names(text: &str, expected: &str) -> bool {
    let Some(expected) = numbers(expected).into_iter().next() else { return false };
    numbers(text).contains(&expected)
}

/// Returns all numbers of a text in canonical form.
fn numbers(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.replace("{,}", ",").chars().map(half_width).collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < characters.len() {
        if !characters[at].is_ascii_digit() {
            at += 1;
            continue;
        }
        let is_negative = is_sign(&characters, at);
        let (number, next) = read(&characters, at);
        found.push(written(&number, is_negative));
        at = next;
    }
    found
}

/// Returns `true` if the number has a minus sign. A hyphen within a word and a minus between two numbers do not count.
fn is_sign(characters: &[char], at: usize) -> bool {
    let Some(sign) = at.checked_sub(1) else { return false };
    let before = sign.checked_sub(1).map(|place| characters[place]);
    characters[sign] == '-' && before.is_none_or(|before| !before.is_alphanumeric() && before != ')')
}

/// Returns the digits with at most one decimal point and without thousands separators, and the position after the
/// number.
fn read(characters: &[char], mut at: usize) -> (String, usize) {
    let is_digit = |place: usize| characters.get(place).is_some_and(char::is_ascii_digit);
    let mut number = String::new();
    let mut has_point = false;
    while let Some(&character) = characters.get(at) {
        let follows_group = (1..=3).all(|ahead| is_digit(at + ahead)) && !is_digit(at + 4);
        match character {
            '0'..='9' => number.push(character),
            '.' if !has_point && is_digit(at + 1) => {
                has_point = true;
                number.push('.');
            }
            ',' | '_' | '\u{a0}' | '\u{202f}' | '\u{2009}' if !has_point && follows_group => {}
            _ => break,
        }
        at += 1;
    }
    (number, at)
}

/// Returns the canonical form of a number: without superfluous zeros.
fn written(number: &str, is_negative: bool) -> String {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let sign = if is_negative && !(whole.is_empty() && fraction.is_empty()) { "-" } else { "" };
    let whole = if whole.is_empty() { "0" } else { whole };
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{whole}{point}{fraction}")
}

/// Converts full-width digits and signs to ASCII.
fn half_width(character: char) -> char {
    match character {
        '０'..='９' | '．' | '，' => char::from_u32(u32::from(character) - 0xFEE0).unwrap_or(character),
        '−' | '－' => '-',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::{names, numbers};

    #[test]
    fn equal_numbers_match_in_any_notation() {
        for text in [
            "It is 1,234.50.",
            "1234.5",
            "答えは１，２３４．５です",
            "$1{,}234.5$",
            "01234.500",
            "(1 234.5)".replace(' ', "\u{202f}").as_str(),
        ] {
            assert!(names(text, "1234.5"), "{text}");
        }
        for text in ["1234", "12345", "1234.51", "-1234.5", "1,23,4.5", "none", ""] {
            assert!(!names(text, "1234.5"), "{text}");
        }
        assert!(names("minus: −7", "-7") && names("x = -7.0", "-7") && !names("10-7", "-7") && names("-0", "0"));
        assert!(names("7 - 10 = -3", "-3") && !names("no-3", "-3"));
        assert!(names("12345678901234567890123456789", "12,345,678,901,234,567,890,123,456,789"));
        assert!(!names("5", "five"), "a text that is not a number matches nothing");
    }

    #[test]
    fn a_sentence_ends_a_number() {
        assert_eq!(numbers("1, 2 and 3. Then 4.5.6"), ["1", "2", "3", "4.5", "6"]);
    }
}
