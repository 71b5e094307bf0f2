//! What people and keys may be called.

use super::{AccountsError, limits::MAX_NAME_CHARS};

/// A person's name: letters and digits of any script, and `. _ - @ +` between them. In lower case, so that no two look
/// alike but for that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UserName(String);

impl UserName {
    pub(super) fn parse(text: &str) -> Result<Self, AccountsError> {
        let name = text.trim().to_lowercase();
        let chars = name.chars().count();
        if (1..=MAX_NAME_CHARS).contains(&chars) && name.chars().all(is_plain) {
            return Ok(Self(name));
        }
        Err(AccountsError::Invalid(format!(
            "A name has 1 to {MAX_NAME_CHARS} letters, digits and . _ - @ + and nothing else."
        )))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// A name for somebody who is called so elsewhere, with room for a number.
pub(super) fn name_like(text: &str) -> String {
    let name: String = text.to_lowercase().chars().filter(|character| is_plain(*character)).take(40).collect();
    if name.is_empty() { "user".to_owned() } else { name }
}

fn is_plain(character: char) -> bool {
    character.is_alphanumeric() || "._-@+".contains(character)
}

/// What a person calls a key.
pub(super) fn key_name(text: &str) -> Result<String, AccountsError> {
    let name = text.trim();
    if (1..=MAX_NAME_CHARS).contains(&name.chars().count()) && !name.chars().any(char::is_control) {
        return Ok(name.to_owned());
    }
    Err(AccountsError::Invalid(format!("A key's name has 1 to {MAX_NAME_CHARS} characters.")))
}

#[cfg(test)]
mod tests {
    use super::{UserName, name_like};

    #[test]
    fn what_somebody_is_called_elsewhere_becomes_a_name() {
        for (text, name) in [("Alice B.", "aliceb."), ("花子", "花子"), ("<>\u{202e}", "user"), ("İ", "i")] {
            assert_eq!(name_like(text), name);
        }
        assert!(UserName::parse(&name_like(&"İ😀x".repeat(100))).is_ok());
    }

    #[test]
    fn names_are_plain_and_in_lower_case() {
        for (text, name) in [(" Alice ", "alice"), ("花子", "花子"), ("a.b-c_d+e@example.org", "a.b-c_d+e@example.org")]
        {
            assert_eq!(UserName::parse(text).unwrap().as_str(), name);
        }
        for text in ["", " ", "a b", "a\0b", "<b>", "a\u{202e}b", "a\u{200b}b", "a/b", &"a".repeat(65)] {
            assert!(UserName::parse(text).is_err(), "{text:?}");
        }
    }
}
