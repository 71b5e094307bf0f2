//! Parses numbers in English and Japanese words, and the words that scale a number in digits: 5 million, 3万.

/// Returns the power of ten of the scale word that `text` begins with, and its length in bytes: 5 million, 3万. Returns
/// `None` if there is none.
pub(crate) fn scale(text: &str) -> Option<(usize, usize)> {
    let words = [("百", 2), ("千", 3), ("万", 4), ("億", 8), ("兆", 12)];
    if let Some((word, power)) = words.iter().find(|(word, _)| text.starts_with(word)) {
        return Some((*power, word.len()));
    }
    let words = [(" hundred", 2), (" thousand", 3), (" million", 6), (" billion", 9), (" trillion", 12)];
    let (word, power) = words.iter().find(|(word, _)| {
        text.strip_prefix(word).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphabetic()))
    })?;
    Some((*power, word.len()))
}

/// Returns the number in words that `text` begins with, and its length in bytes: twenty-five, three hundred, 二十五.
/// Returns `None` if there is none.
pub(crate) fn number_in_words(text: &str) -> Option<(u64, usize)> {
    let kanji = kanji_number(text);
    if kanji.is_some() { kanji } else { english_number(text) }
}

fn english_number(text: &str) -> Option<(u64, usize)> {
    const SMALL: [&str; 20] = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ];
    const TENS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
    let (mut total, mut group, mut end, mut largest) = (0_u64, 0_u64, 0, u64::MAX);
    let mut any = false;
    let mut at = 0;
    // A number in words has far fewer than twenty words.
    for _ in 0..20 {
        let rest = &text[at..];
        let length = rest.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(rest.len());
        let word = &rest[..length];
        let position =
            |list: &[&str]| list.iter().position(|known| *known == word).and_then(|at| u64::try_from(at).ok());
        if let Some(small) = position(&SMALL) {
            let room = if small == 0 {
                !any
            } else {
                group % 100 == 0 || (small < 10 && group % 10 == 0 && group % 100 >= 20)
            };
            if !room {
                break;
            }
            group += small;
        } else if let Some(tens) = position(&TENS) {
            if group % 100 != 0 {
                break;
            }
            group += (tens + 2) * 10;
        } else if word == "hundred" && (1..10).contains(&group) {
            group *= 100;
        } else {
            let factor = match word {
                "thousand" => 1_000,
                "million" => 1_000_000,
                "billion" => 1_000_000_000,
                _ => break,
            };
            if group == 0 || factor >= largest {
                break;
            }
            largest = factor;
            total += group * factor;
            group = 0;
        }
        any = true;
        end = at + length;
        match text[end..].chars().next() {
            Some(' ' | '-') => at = end + 1,
            _ => break,
        }
    }
    any.then_some((total + group, end))
}

fn kanji_number(text: &str) -> Option<(u64, usize)> {
    let (mut total, mut group, mut digit, mut end) = (0_u64, 0_u64, None, 0);
    for c in text.chars().take(20) {
        let value = "〇一二三四五六七八九".chars().position(|known| known == c).and_then(|at| u64::try_from(at).ok());
        if let Some(value) = value {
            if digit.is_some() {
                break;
            }
            digit = Some(value);
        } else {
            let (factor, closes_group) = match c {
                '十' => (10, false),
                '百' => (100, false),
                '千' => (1_000, false),
                '万' => (10_000, true),
                '億' => (100_000_000, true),
                _ => break,
            };
            if closes_group {
                group += digit.take().unwrap_or(0);
                total += group.max(1) * factor;
                group = 0;
            } else {
                group += digit.take().unwrap_or(1) * factor;
            }
        }
        end += c.len_utf8();
    }
    (end > 0).then(|| (total + group + digit.unwrap_or(0), end))
}
