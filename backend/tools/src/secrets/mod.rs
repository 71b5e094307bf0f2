//! What nobody may read, taken out of texts before they are kept, sent or logged: the values of secrets that the settings
//! hold and of tokens got by these (here), and arguments that a tool's schema marks as secret (`arguments`), for a while after
//! their call, too (`lately`).

mod arguments;
mod lately;

use std::{borrow::Cow, fmt, sync::Arc};

use lately::Lately;

pub(crate) use arguments::marks_secrets;
pub use arguments::{HiddenArguments, hide_arguments};

/// What stands in the place of a secret.
pub const HIDDEN: &str = "[hidden]";

/// A shorter value of the settings is no secret, nor is a shorter argument: hiding them would hide ordinary words and
/// numbers wherever they stand.
const MIN_BYTES: usize = 8;
const MIN_ARGUMENT_BYTES: usize = 4;

/// Values that nobody may read. Clones share which tokens there are, and which arguments were secret of late.
#[derive(Clone, Default)]
pub struct Secrets {
    /// The longest first, so that of values within each other the whole one goes.
    values: Arc<[String]>,
    tokens: Arc<Lately>,
    lately: Arc<Lately>,
}

impl Secrets {
    /// These values of the settings, each as it is, as it stands within a JSON string, and within one in another, as in a log of
    /// JSON. Those of a few characters are left out.
    pub fn new(values: impl IntoIterator<Item = String>) -> Self {
        Self::of(values, MIN_BYTES)
    }

    /// The same of a call's arguments.
    pub fn of_arguments(values: impl IntoIterator<Item = String>) -> Self {
        Self::of(values, MIN_ARGUMENT_BYTES)
    }

    fn of(values: impl IntoIterator<Item = String>, min_bytes: usize) -> Self {
        let as_they_are = values.into_iter().filter(|value| value.len() >= min_bytes);
        let written = as_they_are.flat_map(|value| {
            let once = in_json(&value);
            [in_json(&once), once, value]
        });
        Self::longest_first(written.collect())
    }

    fn longest_first(mut values: Vec<String>) -> Self {
        values.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        values.dedup();
        Self { values: values.into(), ..Self::default() }
    }

    /// These and those.
    #[must_use]
    pub fn and(&self, others: &Self) -> Self {
        if others.values.is_empty() {
            return self.clone();
        }
        let both = Self::longest_first(self.values.iter().chain(&*others.values).cloned().collect());
        Self { values: both.values, ..self.clone() }
    }

    /// Has a token that was got while the program runs hidden like the values of the settings.
    pub fn learn(&self, token: &str) {
        self.tokens.add(&Self::new([token.to_owned()]).values);
    }

    /// Has `arguments` of a call hidden for a while wherever [`Self::hide_with_arguments`] hides these.
    pub fn remember(&self, arguments: &Self) {
        self.lately.add(&arguments.values);
    }

    /// Whether one of them occurs in the text.
    pub fn occur_in(&self, text: &str) -> bool {
        let is_in = |values: &[String]| values.iter().any(|value| text.contains(value));
        is_in(&self.values) || self.tokens.all().iter().any(|values| is_in(values))
    }

    /// The text without them.
    pub fn hide<'a>(&self, text: impl Into<Cow<'a, str>>) -> Cow<'a, str> {
        let text = self.tokens.all().iter().fold(text.into(), |text, values| hide(text, values));
        hide(text, &self.values)
    }

    /// The same, and without the secret arguments of the latest calls: for what is said beside the calls, such as the log,
    /// where nobody knows of which call something is.
    pub fn hide_with_arguments<'a>(&self, text: impl Into<Cow<'a, str>>) -> Cow<'a, str> {
        let text = self.hide(text);
        self.lately.all().iter().fold(text, |text, values| hide(text, values))
    }
}

fn hide<'a>(mut text: Cow<'a, str>, values: &[String]) -> Cow<'a, str> {
    for value in values {
        if text.contains(value) {
            text = text.replace(value, HIDDEN).into();
        }
    }
    text
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

    fn secrets(values: &[&str]) -> Secrets {
        Secrets::new(values.iter().map(|&value| value.to_owned()))
    }

    #[test]
    fn a_value_is_hidden_wherever_it_stands_and_however_it_is_written() {
        let secrets = secrets(&["sk-canary", "a \"quoted\" one", "tallies"]);
        let cases = [
            ("x sk-canarysk-canary y", "x [hidden][hidden] y"),
            (r#"{"k":"a \"quoted\" one"}"#, r#"{"k":"[hidden]"}"#),
            (r#"{"k":"{\"k\":\"a \\\"quoted\\\" one\"}"}"#, r#"{"k":"{\"k\":\"[hidden]\"}"}"#),
            ("a \"quoted\" one", "[hidden]"),
            ("tallies", "tallies"),
            ("", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(secrets.hide(text), expected);
        }
        assert!(secrets.occur_in("sk-canary") && !secrets.occur_in("tallies"));
        assert_eq!(format!("{secrets:?}"), "[hidden]");
        assert_eq!(Secrets::default().hide("sk-canary"), "sk-canary");
        assert_eq!(Secrets::of_arguments(["1234".to_owned(), "99".to_owned()]).hide("1234 99"), "[hidden] 99");
    }

    #[test]
    fn secret_arguments_are_hidden_elsewhere_only_where_that_is_asked_for() {
        let secrets = secrets(&["sk-canary"]);
        let log = secrets.clone();
        secrets.and(&Secrets::default()).remember(&Secrets::of_arguments(["hunter2".to_owned()]));
        secrets.and(&self::secrets(&["of another"])).remember(&Secrets::of_arguments(["4711".to_owned()]));
        assert_eq!(log.hide("hunter2, sk-canary"), "hunter2, [hidden]");
        assert_eq!(log.hide_with_arguments("hunter2, 4711, sk-canary"), "[hidden], [hidden], [hidden]");
    }

    #[test]
    fn a_token_is_a_secret_from_when_there_is_one() {
        let secrets = secrets(&["sk-canary"]);
        let (log, of_call) = (secrets.clone(), secrets.and(&Secrets::of_arguments(["hunter2".to_owned()])));
        secrets.learn("token-canary");
        secrets.learn("short");
        assert_eq!(log.hide("token-canary sk-canary short"), "[hidden] [hidden] short");
        assert_eq!(of_call.hide("token-canary hunter2"), "[hidden] [hidden]");
        assert!(log.occur_in("a token-canary") && !log.occur_in("short"));
    }

    #[test]
    fn the_longest_of_values_within_each_other_goes_whole() {
        assert_eq!(secrets(&["canaries", "canaries-sing"]).hide("the canaries-sing"), "the [hidden]");
    }
}
