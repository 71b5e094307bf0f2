//! What nobody may read, taken out of texts before they are kept, sent or logged: the values of secrets that the settings
//! hold (here), and arguments that a tool's schema marks as secret (`arguments`).

mod arguments;

use std::{borrow::Cow, fmt};

use aho_corasick::{AhoCorasick, MatchKind};

pub use arguments::{HiddenArguments, hide_arguments};
pub(crate) use arguments::{are_hidden, marks_secrets};

/// What stands in the place of a secret.
pub const HIDDEN: &str = "[hidden]";

/// A shorter value is no secret: hiding it would hide ordinary words.
const MIN_BYTES: usize = 6;

/// Values that nobody may read.
#[derive(Clone, Default)]
pub struct Secrets(Option<AhoCorasick>);

impl Secrets {
    /// These values, each as it is and as it stands within a JSON string. Those of a few characters are left out.
    pub fn new<T: Into<String>>(values: impl IntoIterator<Item = T>) -> Self {
        let as_they_are = values.into_iter().map(Into::into).filter(|value| value.len() >= MIN_BYTES);
        let mut values: Vec<String> = as_they_are.flat_map(|value| [in_json(&value), value]).collect();
        values.sort_unstable();
        values.dedup();
        if values.is_empty() {
            return Self(None);
        }
        // Nothing is hidden where they are too much for an automaton, which takes gigabytes of them.
        Self(AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(values).ok())
    }

    /// Whether one of them occurs in the text.
    pub fn occur_in(&self, text: &str) -> bool {
        self.0.as_ref().is_some_and(|values| values.is_match(text))
    }

    /// The text without them.
    pub fn hide<'a>(&self, text: impl Into<Cow<'a, str>>) -> Cow<'a, str> {
        let text = text.into();
        match &self.0 {
            Some(values) if values.is_match(&*text) => replaced(values, &text).into(),
            _ => text,
        }
    }
}

fn replaced(values: &AhoCorasick, text: &str) -> String {
    let mut without = String::with_capacity(text.len());
    values.replace_all_with(text, &mut without, |_, _, without| {
        without.push_str(HIDDEN);
        true
    });
    without
}

/// The value as it stands within a JSON string.
fn in_json(value: &str) -> String {
    let quoted = serde_json::Value::from(value).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

#[cfg(test)]
mod tests {
    use super::Secrets;

    #[test]
    fn a_value_is_hidden_wherever_it_stands_and_however_it_is_written() {
        let secrets = Secrets::new(["sk-canary", "a \"quoted\" one", "short"]);
        let cases = [
            ("x sk-canarysk-canary y", "x [hidden][hidden] y"),
            (r#"{"k":"a \"quoted\" one"}"#, r#"{"k":"[hidden]"}"#),
            ("a \"quoted\" one", "[hidden]"),
            ("short", "short"),
            ("", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(secrets.hide(text), expected);
        }
        assert!(secrets.occur_in("sk-canary") && !secrets.occur_in("short"));
        assert_eq!(format!("{secrets:?}"), "[hidden]");
        assert_eq!(Secrets::default().hide("sk-canary"), "sk-canary");
    }

    #[test]
    fn the_longest_of_values_within_each_other_goes_whole() {
        assert_eq!(Secrets::new(["canary", "canary-bird"]).hide("a canary-bird"), "a [hidden]");
    }
}
