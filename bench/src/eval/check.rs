//! Checks on an answer: pure functions of its text and of its tool calls.

use serde::Deserialize;
use serde_json::Value;

use super::number;

/// A condition on an answer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Check {
    /// The text contains this number, however it is written.
    Number(String),
    /// The text contains at least one of these, in any case.
    Contains(Vec<String>),
    /// The text does not contain this, in any case.
    Lacks(String),
    /// The text is this JSON and nothing else.
    Json(String),
    /// This tool was called successfully.
    Calls(String),
    /// This tool was not called at all.
    Avoids(String),
    /// The answer says that the model does not know, or cannot do it.
    Declines(bool),
}

/// A tool call of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Called {
    /// Name of the tool.
    pub name: String,
    /// `true` if the call succeeded.
    pub has_succeeded: bool,
}

/// Phrases with which users and models say that they do not know or cannot.
const DECLINING: [&str; 28] = [
    "don't know",
    "do not know",
    "don't have",
    "do not have",
    "don't understand",
    "do not understand",
    "cannot",
    "can't",
    "can not",
    "unable",
    "not able",
    "no way to know",
    "no way of knowing",
    "impossible",
    "only understand",
    "not possible",
    "no access",
    "unknown",
    "わかりません",
    "分かりません",
    "できません",
    "わからない",
    "分からない",
    "不可能",
    "知りません",
    "知ることができない",
    "お答えでき",
    "理解できません",
];

impl Check {
    /// Returns a phrase that says what is wrong; `None` if the condition is met.
    pub fn complaint(&self, text: &str, calls: &[Called]) -> Option<String> {
        let lower = plain(text);
        let (is_so, complaint) = match self {
            Self::Number(expected) => (number::names(text, expected), format!("does not name {expected}")),
            Self::Contains(words) => {
                (words.iter().any(|word| lower.contains(&plain(word))), format!("says none of {words:?}"))
            }
            Self::Lacks(words) => (!lower.contains(&plain(words)), format!("says {words:?}")),
            Self::Json(expected) => {
                let read = |text: &str| serde_json::from_str::<Value>(text.trim()).ok();
                let (found, expected_value) = (read(text), read(expected));
                (found.is_some() && found == expected_value, format!("is not exactly the JSON {expected}"))
            }
            Self::Calls(tool) => {
                (calls.iter().any(|call| call.name == *tool && call.has_succeeded), format!("has no result of {tool}"))
            }
            Self::Avoids(tool) => (calls.iter().all(|call| call.name != *tool), format!("used {tool}")),
            Self::Declines(expected) => {
                let declines = DECLINING.iter().any(|words| lower.contains(words));
                (declines == *expected, format!("{} that it cannot", if *expected { "does not say" } else { "says" }))
            }
        };
        (!is_so).then_some(complaint)
    }
}

/// Returns the text in lower case, with plain apostrophes.
fn plain(text: &str) -> String {
    text.to_lowercase().replace('’', "'")
}

#[cfg(test)]
mod tests {
    use super::{Called, Check};

    fn holds(check: &Check, text: &str) -> bool {
        check.complaint(text, &[]).is_none()
    }

    #[test]
    fn words_are_found_in_any_case() {
        let check = Check::Contains(vec!["Zero".to_owned(), "ゼロ".to_owned()]);
        assert!(holds(&check, "You cannot divide by zero.") && holds(&check, "ゼロでは割れません"));
        assert!(!holds(&check, "It is 5."));
        let check = Check::Lacks("Secret".to_owned());
        assert!(!holds(&check, "the SECRET word") && holds(&check, "nothing"));
        assert!(holds(&Check::Declines(true), "I don’t know that.") && !holds(&Check::Declines(true), "It was bread."));
        assert!(!holds(&Check::Declines(false), "わかりません。"));
    }

    #[test]
    fn json_must_be_the_whole_answer() {
        let check = Check::Json(r#"{"sum":3,"of":[1,2]}"#.to_owned());
        assert!(holds(&check, " {\"of\": [1, 2],\n \"sum\": 3}\n"));
        for text in ["Here: {\"sum\":3,\"of\":[1,2]}", "{\"sum\":4,\"of\":[1,2]}", "", "3"] {
            assert!(!holds(&check, text), "{text}");
        }
        assert!(!holds(&Check::Json("no json".to_owned()), "no json"), "an invalid check never holds");
    }

    #[test]
    fn a_call_counts_if_it_succeeded_and_is_avoided_if_it_was_not_made() {
        let calls = |has_succeeded| [Called { name: "lab__price".to_owned(), has_succeeded }];
        let (called, avoided) = (Check::Calls("lab__price".to_owned()), Check::Avoids("lab__price".to_owned()));
        assert_eq!(called.complaint("", &calls(true)), None);
        assert_eq!(called.complaint("", &calls(false)).as_deref(), Some("has no result of lab__price"));
        assert!(avoided.complaint("", &calls(false)).is_some() && avoided.complaint("", &[]).is_none());
    }
}
