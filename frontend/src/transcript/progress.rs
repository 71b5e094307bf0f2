//! The progress of a running tool call. It is not stored, so a client that joins late receives it with the next report.

use tallybook_protocol::ToolCallProgress;

use crate::format::beginning;

/// Maximum number of characters that are shown of a tool's message.
const MAX_MESSAGE_CHARS: usize = 120;
/// Maximum number of characters that are shown of a number. A tool may report any number.
const MAX_NUMBER_CHARS: usize = 12;

/// The progress of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The completed amount in the tool's unit, as the tool wrote the number.
    pub done: String,
    /// The total amount, if the tool knows it.
    pub total: Option<String>,
    /// The completed percentage, if it is known.
    pub percent: Option<u8>,
    /// The beginning of the tool's message.
    pub message: Option<String>,
}

impl From<ToolCallProgress> for Progress {
    fn from(event: ToolCallProgress) -> Self {
        let percent = event.progress.as_f64().zip(event.total.as_ref().and_then(serde_json::Number::as_f64));
        let percent = percent.filter(|(_, total)| *total > 0.0).map(|(done, total)| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped to 0 to 100")]
            let percent = (100.0 * done / total).clamp(0.0, 100.0) as u8;
            percent
        });
        let message = event.message.map(|message| {
            let words = message.split_whitespace().collect::<Vec<_>>().join(" ");
            let (start, is_more) = beginning(&words, MAX_MESSAGE_CHARS);
            if is_more { format!("{start}…") } else { words }
        });
        Self {
            done: short(&event.progress),
            total: event.total.as_ref().map(short),
            percent,
            message: message.filter(|message| !message.is_empty()),
        }
    }
}

fn short(number: &serde_json::Number) -> String {
    let number = number.to_string();
    // Tools that count whole steps may still write fractions.
    let number = number.strip_suffix(".0").unwrap_or(&number);
    let (start, is_more) = beginning(number, MAX_NUMBER_CHARS);
    if is_more { format!("{start}…") } else { number.to_owned() }
}

#[cfg(test)]
mod tests {
    use tallybook_protocol::{ToolCallId, ToolCallProgress};

    use super::Progress;

    fn shown(progress: &str, total: Option<&str>, message: Option<&str>) -> Progress {
        let number = |text: &str| serde_json::from_str(text).unwrap();
        Progress::from(ToolCallProgress {
            tool_call_id: ToolCallId(1),
            progress: number(progress),
            total: total.map(number),
            message: message.map(str::to_owned),
        })
    }

    #[test]
    fn numbers_are_shown_as_written_and_percentages_are_clamped() {
        let third = shown("3", Some("10"), Some("reading\n  page 3"));
        assert_eq!((third.done.as_str(), third.total.as_deref(), third.percent), ("3", Some("10"), Some(30)));
        assert_eq!(third.message.as_deref(), Some("reading page 3"));
        let steps = shown("16.0", Some("60.0"), None);
        assert_eq!((steps.done.as_str(), steps.total.as_deref()), ("16", Some("60")));
        assert_eq!(shown("0.5", None, Some(" ")).message, None);
        for (done, total, percent) in [
            ("12", "10", Some(100)),
            ("-1", "10", Some(0)),
            ("1", "0", None),
            ("1", "-5", None),
            ("1e300", "1", Some(100)),
        ] {
            assert_eq!(shown(done, Some(total), None).percent, percent, "{done} of {total}");
        }
        let long = shown("1", None, Some(&"計".repeat(500)));
        assert_eq!(long.message.map(|message| message.chars().count()), Some(121));
    }
}
