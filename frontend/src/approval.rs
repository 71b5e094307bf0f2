//! Decisions on tool calls, and parsing of the arguments that the user edited. Pure.

use serde::de::IgnoredAny;
use tallybook_protocol::{CallDecision, Decision, RawJson, ToolCallId};

/// The reason why a text cannot be the arguments of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// The text is not valid JSON. The position is counted from 1.
    NoJson { line: usize, column: usize },
    /// The text is JSON, but not an object.
    NoObject,
}

/// Parses arguments, and keeps every digit as it was written.
pub(crate) fn edited_input(text: &str) -> Result<RawJson, Flaw> {
    if let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
        return Err(Flaw::NoJson { line: error.line(), column: error.column() });
    }
    let input = RawJson::from_text(text.trim());
    // JSON that is nested too deeply became a string.
    if input.as_str().starts_with('{') { Ok(input) } else { Err(Flaw::NoObject) }
}

/// Returns a decision without a reason, changed arguments, or a saved approval.
pub(crate) fn plain_decision(id: ToolCallId, decision: Decision) -> CallDecision {
    CallDecision { tool_call_id: id, decision, reason: None, input: None, remember: None }
}

#[cfg(test)]
mod tests {
    use super::{Flaw, edited_input};

    #[test]
    fn arguments_are_one_object_with_every_digit() {
        let text = " {\n  \"b\": 0.10000000000000000000000001,\n  \"a\": [1e400]\n} ";
        assert_eq!(edited_input(text).unwrap().as_str(), text.trim());
        assert_eq!(edited_input("{}").unwrap().as_str(), "{}");
    }

    #[test]
    fn an_error_has_its_position() {
        for (text, flaw) in [
            ("", Flaw::NoJson { line: 1, column: 0 }),
            ("{\n  \"a\": 1,\n}", Flaw::NoJson { line: 3, column: 1 }),
            ("{} {}", Flaw::NoJson { line: 1, column: 4 }),
            ("[1]", Flaw::NoObject),
            ("\"{}\"", Flaw::NoObject),
            (&format!("{{\"a\":{}{}}}", "[".repeat(110), "]".repeat(110)), Flaw::NoObject),
        ] {
            assert_eq!(edited_input(text), Err(flaw), "{text}");
        }
        let deep = "[".repeat(100_000);
        assert!(edited_input(&deep).is_err());
    }
}
