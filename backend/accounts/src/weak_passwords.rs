//! Finds passwords that an attacker guesses first: common words, runs of the keyboard or the alphabet, repetitions, the
//! user's own name, and combinations of these.

use std::collections::BTreeSet;

use unicode_normalization::UnicodeNormalization as _;

use super::limits::MIN_PASSWORD_CHARS;

/// Minimum length of a password in characters, where each easily guessed part counts as one character.
const MIN_HARD_CHARS: usize = 8;

/// Minimum length of a run, repetition or name that counts as easy to guess, in characters.
const MIN_EASY_CHARS: usize = 3;

/// Minimum number of distinct characters.
const MIN_DIFFERENT_CHARS: usize = 5;

/// Rows of characters that are typed in this order: the alphabet, digits and rows of keyboards.
const RUNS: [&str; 13] = [
    "abcdefghijklmnopqrstuvwxyz",
    "01234567890",
    "qwertyuiop",
    "asdfghjkl",
    "zxcvbnm",
    "qwertzuiop",
    "azertyuiop",
    "yxcvbnm",
    "!@#$%^&*()",
    "1qaz2wsx3edc4rfv5tgb6yhn7ujm",
    "qazwsxedcrfvtgbyhnujm",
    "147258369",
    "1q2w3e4r5t6y7u8i9o0p",
];

/// Words in the most common passwords.
const WORDS: [&str; 96] = [
    "access",
    "admin",
    "administrator",
    "andrew",
    "angel",
    "asdf",
    "ashley",
    "baseball",
    "basketball",
    "batman",
    "biteme",
    "buster",
    "butterfly",
    "changeit",
    "changeme",
    "charlie",
    "cheese",
    "chelsea",
    "chocolate",
    "computer",
    "cookie",
    "daniel",
    "default",
    "demo",
    "donald",
    "dragon",
    "family",
    "flower",
    "football",
    "freedom",
    "friends",
    "fuckyou",
    "george",
    "ginger",
    "guest",
    "hannah",
    "harley",
    "hello",
    "hockey",
    "hunter",
    "iloveyou",
    "internet",
    "jennifer",
    "jessica",
    "jordan",
    "joshua",
    "killer",
    "letmein",
    "liverpool",
    "login",
    "london",
    "loveme",
    "lovely",
    "maggie",
    "master",
    "matrix",
    "matthew",
    "merlin",
    "michael",
    "michelle",
    "monkey",
    "mustang",
    "naruto",
    "nicole",
    "ninja",
    "passphrase",
    "passw0rd",
    "passwd",
    "password",
    "pepper",
    "pokemon",
    "princess",
    "qwer",
    "ranger",
    "robert",
    "samsung",
    "secret",
    "server",
    "shadow",
    "soccer",
    "starwars",
    "summer",
    "sunshine",
    "superman",
    "system",
    "tallybook",
    "test",
    "thomas",
    "thunder",
    "tigger",
    "trustno1",
    "user",
    "welcome",
    "whatever",
    "winter",
    "p@ssw0rd",
];

/// Returns `true` if the password of the user `name` is easy to guess.
pub(crate) fn is_weak(password: &str, name: &str) -> bool {
    let text: Vec<char> = folded(password);
    let different: BTreeSet<char> = text.iter().copied().collect();
    if different.len() < MIN_DIFFERENT_CHARS {
        return true;
    }
    let easy: Vec<Vec<char>> = words_of(name).chain(WORDS.iter().map(|word| folded(word))).collect();
    let unit = shortest_unit(&text);
    if unit.len() < text.len() && unit.len() < MIN_PASSWORD_CHARS {
        return true;
    }
    let (mut hard, mut place) = (0, 0);
    while place < unit.len() {
        let rest = &unit[place..];
        let word = easy.iter().filter(|word| rest.starts_with(word)).map(Vec::len).max().unwrap_or(1);
        place += word.max(run(rest)).max(same(rest));
        hard += 1;
    }
    hard < MIN_HARD_CHARS
}

fn folded(text: &str) -> Vec<char> {
    text.nfkc().flat_map(char::to_lowercase).collect()
}

/// Returns the name and its parts, each of at least [`MIN_EASY_CHARS`] characters.
fn words_of(name: &str) -> impl Iterator<Item = Vec<char>> {
    let parts = name.split(|c: char| !c.is_alphanumeric()).chain([name]);
    parts.map(folded).filter(|word| word.len() >= MIN_EASY_CHARS)
}

/// Returns the repeated part if the whole text is one repetition, and the whole text otherwise.
fn shortest_unit(text: &[char]) -> &[char] {
    let is_unit = |length: &usize| text.iter().zip(text.iter().skip(*length)).all(|(one, other)| one == other);
    let length = (1..=text.len() / 2).find(is_unit).unwrap_or(text.len());
    &text[..length]
}

/// Returns the length of a leading run of neighboring keys or letters, forwards or backwards.
fn run(text: &[char]) -> usize {
    let longest = RUNS.iter().flat_map(|row| {
        let forwards: Vec<char> = row.chars().collect();
        let backwards: Vec<char> = row.chars().rev().collect();
        [common(text, &forwards), common(text, &backwards)]
    });
    longest.max().filter(|length| *length >= MIN_EASY_CHARS).unwrap_or(1)
}

/// Returns the length of the longest prefix of `text` within `row`.
fn common(text: &[char], row: &[char]) -> usize {
    let from = |start: usize| text.iter().zip(&row[start..]).take_while(|(one, other)| one == other).count();
    (0..row.len()).map(from).max().unwrap_or_default()
}

/// Returns the length of a leading repetition of one character.
fn same(text: &[char]) -> usize {
    let length = text.iter().take_while(|character| Some(*character) == text.first()).count();
    if length >= MIN_EASY_CHARS { length } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::is_weak;

    #[test]
    fn common_passwords_are_weak() {
        for password in [
            "123456789012",
            "passwordpassword",
            "PasswordPassword",
            "Password1234!",
            "aaaaaaaaaaaa",
            "abababababab",
            "abcabcabcabc",
            "qwertyuiopas",
            "qwertyuiop123",
            "987654321098",
            "1qaz2wsx3edc",
            "1q2w3e4r5t6y",
            "letmein12345",
            "iloveyou1234",
            "administrator",
            "alicealice12",
            "alice-alice-1",
            "example.alice",
            "Welcome2Tallybook",
            "changeme1234",
            "correct1correct1",
            "ｐａｓｓｗｏｒｄ1234",
            "abcdefghijkl",
            "111222333444555",
        ] {
            assert!(is_weak(password, "alice@example.org"), "{password}");
        }
    }

    #[test]
    fn several_words_are_strong() {
        for password in [
            "a password of some length",
            "another one of some length",
            "correct horse battery",
            "十二文字の合言葉がこれです",
            "my password is a secret",
            "vT4#kz9!Qw2m",
            "alice likes green tea",
            "3f9a2c7d81be",
            "correct horse correct horse",
        ] {
            assert!(!is_weak(password, "alice@example.org"), "{password}");
        }
    }
}
