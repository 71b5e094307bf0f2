//! Rules for the names of users and API keys.

use unicode_normalization::UnicodeNormalization as _;
use unicode_security::{GeneralSecurityProfile as _, MixedScript as _, skeleton};

use super::{AccountsError, limits::MAX_NAME_CHARS};

/// Names reserved because a user with one of them could be mistaken for the server, a model, a reviewer, a group of
/// users, or a missing decision (`timeout`).
const RESERVED: [&str; 15] = [
    "anonymous",
    "assistant",
    "everybody",
    "everyone",
    "model",
    "models",
    "nobody",
    "review",
    "reviewer",
    "reviewers",
    "reviews",
    "server",
    "system",
    "tallybook",
    "timeout",
];

/// Punctuation allowed in user names.
const PUNCTUATION: [char; 5] = ['.', '_', '-', '@', '+'];

/// Maximum length of a skeleton, in characters. Longer ones are truncated.
const MAX_SKELETON_CHARS: usize = 255;

/// A user name: letters and digits of one script, and `. _ - @ +`, normalized (NFKC) and in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UserName(String);

impl UserName {
    /// Parses the name of a new account. Fails with `Invalid` if the name breaks a rule.
    pub(crate) fn parse(text: &str) -> Result<Self, AccountsError> {
        let name = normalized(text);
        let refused = |problem: &str| Err(AccountsError::Invalid(problem.to_owned()));
        if !(1..=MAX_NAME_CHARS).contains(&name.chars().count()) || !name.chars().all(is_plain) {
            return Err(AccountsError::Invalid(format!(
                "A name must have 1 to {MAX_NAME_CHARS} characters: letters, digits and . _ - @ + only."
            )));
        }
        if !name.is_single_script() {
            return refused(
                "A name must use the letters of one script. For example, do not mix Latin and Cyrillic letters.",
            );
        }
        if is_reserved(&name) {
            return refused("This name is reserved because it could be mistaken for the server. Choose another one.");
        }
        Ok(Self(name))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns the spellings under which to look up an account: as entered, and normalized. The spelling as entered finds
/// accounts that were created before names were normalized. Omits spellings that are empty or too long to be a name.
pub(crate) fn spellings(entered: &str) -> Vec<String> {
    let mut spellings = vec![entered.trim().to_lowercase(), normalized(entered)];
    spellings.dedup();
    spellings.retain(|name| (1..=MAX_NAME_CHARS).contains(&name.chars().count()));
    spellings
}

/// Returns the skeleton of a name (UTS 39). Names that look alike have the same skeleton.
pub(crate) fn skeleton_of(name: &str) -> String {
    skeleton(&normalized(name)).flat_map(char::to_lowercase).take(MAX_SKELETON_CHARS).collect()
}

/// Replaces a user's name in a text, in any spelling, where it is a whole word. Returns `None` if the text does not
/// contain the name.
pub(crate) fn replace_name(text: &str, name: &str, other: &str) -> Option<String> {
    let is_in_word = |character: char| character.is_alphanumeric() || PUNCTUATION.contains(&character);
    let (mut replaced, mut found) = (String::new(), false);
    for piece in text.split_inclusive(|character| !is_in_word(character)) {
        // A dot or a hyphen at its end belongs to the sentence, unless the name itself ends with it.
        let word = piece.trim_end_matches(|character| !is_in_word(character));
        let bare = word.trim_matches(PUNCTUATION);
        let found_word =
            [word, bare].into_iter().find(|word| !word.is_empty() && spellings(word).iter().any(|it| it == name));
        match found_word.and_then(|word| piece.split_once(word)) {
            Some((before, after)) => {
                found = true;
                replaced.extend([before, other, after]);
            }
            None => replaced.push_str(piece),
        }
    }
    found.then_some(replaced)
}

/// Derives a valid user name from a name at an identity provider. The result is short enough to append a number.
pub(crate) fn derive_name(text: &str) -> String {
    let name: String = normalized(text).chars().filter(|character| is_plain(*character)).take(40).collect();
    let ascii: String = name.chars().filter(char::is_ascii).collect();
    let valid = [name, ascii].into_iter().find(|name| UserName::parse(name).is_ok());
    valid.unwrap_or_else(|| "user".to_owned())
}

fn normalized(text: &str) -> String {
    // Normalizes again, since the lower case of some letters isn't normalized.
    text.trim().nfkc().collect::<String>().to_lowercase().nfkc().collect()
}

/// Returns `true` if a name may have this character: visible, and recommended for identifiers by Unicode.
fn is_plain(character: char) -> bool {
    PUNCTUATION.contains(&character) || (character.is_alphanumeric() && character.identifier_allowed())
}

fn is_reserved(name: &str) -> bool {
    let found = skeleton_of(name.trim_matches(PUNCTUATION));
    RESERVED.iter().any(|reserved| skeleton_of(reserved) == found)
}

/// Checks and trims the name of an API key. Fails with `Invalid` if it is empty, too long or has control characters.
pub(crate) fn key_name(text: &str) -> Result<String, AccountsError> {
    let name = text.trim();
    if (1..=MAX_NAME_CHARS).contains(&name.chars().count()) && !name.chars().any(char::is_control) {
        return Ok(name.to_owned());
    }
    Err(AccountsError::Invalid(format!("An API key's name must have 1 to {MAX_NAME_CHARS} characters.")))
}

#[cfg(test)]
mod tests {
    use super::{UserName, derive_name, skeleton_of, spellings};

    #[test]
    fn a_name_from_an_identity_provider_becomes_a_user_name() {
        for (text, name) in [
            ("Alice B.", "aliceb."),
            ("花子", "花子"),
            ("<>\u{202e}", "user"),
            ("İ", "i"),
            ("Review", "user"),
            ("ali\u{441}e", "alie"),
            ("Ｂｏｂ", "bob"),
        ] {
            assert_eq!(derive_name(text), name);
        }
        assert!(UserName::parse(&derive_name(&"İ😀x".repeat(100))).is_ok());
    }

    #[test]
    fn names_are_plain_and_in_lower_case() {
        for (text, name) in [
            (" Alice ", "alice"),
            ("花子", "花子"),
            ("山田たろう", "山田たろう"),
            ("ольга7", "ольга7"),
            ("a.b-c_d+e@example.org", "a.b-c_d+e@example.org"),
            ("ｒｏｏｔ", "root"),
            ("𝓇𝑜𝑜𝓉", "root"),
            ("josé", "josé"),
            ("jose\u{301}", "josé"),
        ] {
            assert_eq!(UserName::parse(text).unwrap().as_str(), name);
        }
        for text in ["", " ", "a b", "a\0b", "<b>", "a\u{202e}b", "a\u{200b}b", "a/b", &"a".repeat(65)] {
            assert!(UserName::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn names_that_confuse_are_refused() {
        for text in
            ["review", "Reviewer", " NOBODY ", "timeout", "ｓｙｓｔｅｍ", "_review_", "n0body", "tirneout", "гeview"]
        {
            assert!(UserName::parse(text).is_err(), "{text:?} is reserved");
        }
        for text in [
            "r\u{43e}ot",
            "alice花",
            "αlpha",
            "root\u{3164}",
            "ro\u{ad}ot",
            "root\u{fe0f}",
            "root\u{e0041}",
            "a\u{34f}b",
        ] {
            assert!(UserName::parse(text).is_err(), "{text:?} mixes scripts or hides something");
        }
        for text in ["preview", "reviewer7", "admin", "root", "systemd"] {
            assert!(UserName::parse(text).is_ok(), "{text:?}");
        }
        // Letters of one script that look like those of another are refused only if another account has the lookalike
        // name.
        assert_eq!(skeleton_of("\u{430}\u{440}\u{440}\u{435}"), skeleton_of("appe"));
        assert_ne!(skeleton_of("alice"), skeleton_of("alicf"));
    }

    #[test]
    fn names_of_earlier_versions_are_still_found() {
        assert_eq!(spellings(" Ｒｏｏｔ "), ["ｒｏｏｔ", "root"]);
        assert_eq!(spellings("Root"), ["root"]);
        assert_eq!(spellings(&"a".repeat(65)), [""; 0]);
        assert_eq!(spellings("r\u{43e}ot"), ["r\u{43e}ot"]);
    }
}
