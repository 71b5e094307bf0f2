//! Redacts secrets in texts before they are stored, sent or logged. This module redacts secrets from the settings, and
//! access tokens obtained with them. `arguments` finds the arguments that a tool's schema marks as secret, and `recent`
//! keeps them for a while after their call.

mod arguments;
mod recent;

use std::{borrow::Cow, fmt, sync::Arc};

use parking_lot::RwLock;
use recent::RecentSecrets;

pub(crate) use arguments::marks_secrets;
pub use arguments::{RedactedArguments, redact_arguments};

/// Text that replaces a secret.
pub const REDACTED: &str = "[hidden]";

/// Minimum length of a secret from the settings, and of a secret argument, in bytes. Shorter values are not redacted,
/// since that would redact ordinary words and numbers everywhere.
const MIN_BYTES: usize = 8;
const MIN_ARGUMENT_BYTES: usize = 4;

/// Secrets to redact. Clones share the secrets that are learned at run time.
#[derive(Clone, Default)]
pub struct Secrets {
    /// Sorted by length, longest first, so that a value that contains another one is redacted completely.
    values: Arc<[String]>,
    /// Values of settings that changed at run time, in the same order.
    added: Arc<RwLock<Arc<[String]>>>,
    tokens: Arc<RecentSecrets>,
    recent: Arc<RecentSecrets>,
}

impl Secrets {
    /// Creates a set of secrets from the settings. Each value is redacted as it is, as escaped in a JSON string, and as
    /// escaped twice, as in a JSON log of JSON. Values of less than 8 bytes are left out.
    pub fn new(values: impl IntoIterator<Item = String>) -> Self {
        Self::of(values, MIN_BYTES)
    }

    /// Creates a set of a call's secret arguments, like [`Self::new`]. Values of less than 4 bytes are left out.
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

    /// Returns a set that also contains the values of `others`, but not the secrets that `others` learned at run time.
    #[must_use]
    pub fn and(&self, others: &Self) -> Self {
        if others.values.is_empty() {
            return self.clone();
        }
        let both = Self::longest_first(self.values.iter().chain(&*others.values).cloned().collect());
        Self { values: both.values, ..self.clone() }
    }

    /// Replaces the secrets of settings that change at run time. They are redacted like the values from the settings.
    pub fn set_added(&self, values: impl IntoIterator<Item = String>) {
        let values = Self::new(values).values;
        let before = std::mem::replace(&mut *self.added.write(), Arc::clone(&values));
        // Running turns may still use a replaced secret, so it counts as a recent token.
        self.tokens.add(&before.iter().filter(|value| !values.contains(value)).cloned().collect());
    }

    /// Adds an access token obtained at run time, which is then redacted like the values from the settings.
    pub fn learn(&self, token: &str) {
        self.tokens.add(&Self::new([token.to_owned()]).values);
    }

    /// Adds the secret arguments of a call to the recent ones, which only [`Self::redact_with_arguments`] redacts.
    pub fn remember(&self, arguments: &Self) {
        self.recent.add(&arguments.values);
    }

    /// Returns `true` if the text contains one of the values or tokens.
    pub fn occur_in(&self, text: &str) -> bool {
        let is_in = |values: &[String]| values.iter().any(|value| text.contains(value));
        is_in(&self.values) || is_in(&self.added.read()) || self.tokens.all().iter().any(|values| is_in(values))
    }

    /// Redacts the values and tokens in the text.
    pub fn redact<'a>(&self, text: impl Into<Cow<'a, str>>) -> Cow<'a, str> {
        let text = self.tokens.all().iter().fold(text.into(), |text, values| redact(text, values));
        redact(redact(text, &self.added.read()), &self.values)
    }

    /// Redacts like [`Self::redact`], and also the secret arguments of recent calls. For text outside of calls, such as
    /// the log, which cannot be assigned to a call.
    pub fn redact_with_arguments<'a>(&self, text: impl Into<Cow<'a, str>>) -> Cow<'a, str> {
        let text = self.redact(text);
        self.recent.all().iter().fold(text, |text, values| redact(text, values))
    }
}

fn redact<'a>(mut text: Cow<'a, str>, values: &[String]) -> Cow<'a, str> {
    for value in values {
        if text.contains(value) {
            text = text.replace(value, REDACTED).into();
        }
    }
    text
}

/// Returns the value escaped as within a JSON string.
fn in_json(value: &str) -> String {
    let quoted = serde_json::Value::from(value).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

#[cfg(test)]
mod tests {
    use super::Secrets;

    fn secrets(values: &[&str]) -> Secrets {
        Secrets::new(values.iter().map(|&value| value.to_owned()))
    }

    #[test]
    fn a_secret_is_redacted_everywhere_in_every_spelling() {
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
            assert_eq!(secrets.redact(text), expected);
        }
        assert!(secrets.occur_in("sk-canary") && !secrets.occur_in("tallies"));
        assert_eq!(format!("{secrets:?}"), "[hidden]");
        assert_eq!(Secrets::default().redact("sk-canary"), "sk-canary");
        assert_eq!(Secrets::of_arguments(["1234".to_owned(), "99".to_owned()]).redact("1234 99"), "[hidden] 99");
    }

    #[test]
    fn secret_arguments_are_redacted_elsewhere_only_on_request() {
        let secrets = secrets(&["sk-canary"]);
        let log = secrets.clone();
        secrets.and(&Secrets::default()).remember(&Secrets::of_arguments(["hunter2".to_owned()]));
        secrets.and(&self::secrets(&["of another"])).remember(&Secrets::of_arguments(["4711".to_owned()]));
        assert_eq!(log.redact("hunter2, sk-canary"), "hunter2, [hidden]");
        assert_eq!(log.redact_with_arguments("hunter2, 4711, sk-canary"), "[hidden], [hidden], [hidden]");
    }

    #[test]
    fn tokens_are_redacted_as_soon_as_they_are_known() {
        let secrets = secrets(&["sk-canary"]);
        let (log, of_call) = (secrets.clone(), secrets.and(&Secrets::of_arguments(["hunter2".to_owned()])));
        secrets.learn("token-canary");
        secrets.learn("short");
        assert_eq!(log.redact("token-canary sk-canary short"), "[hidden] [hidden] short");
        assert_eq!(of_call.redact("token-canary hunter2"), "[hidden] [hidden]");
        assert!(log.occur_in("a token-canary") && !log.occur_in("short"));
    }

    #[test]
    fn secrets_of_settings_that_change_stay_redacted_for_a_while() {
        let secrets = secrets(&["sk-canary"]);
        let of_call = secrets.and(&self::secrets(&["of another"]));
        secrets.set_added(["added-canary".to_owned()]);
        assert_eq!(of_call.redact("added-canary sk-canary"), "[hidden] [hidden]");
        assert!(secrets.occur_in("an added-canary"));
        secrets.set_added(["next-canary".to_owned()]);
        assert_eq!(of_call.redact("added-canary next-canary"), "[hidden] [hidden]");
    }

    #[test]
    fn the_longest_of_nested_values_is_redacted() {
        assert_eq!(secrets(&["canaries", "canaries-sing"]).redact("the canaries-sing"), "the [hidden]");
    }
}
