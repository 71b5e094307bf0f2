//! Truncates the inputs and outputs of tool calls in events and messages. `GET /api/tool-calls/{id}` returns the
//! complete texts of one call, so the size of an event stays bounded.

use std::borrow::Cow;

use crate::{
    RawJson, ToolCall, ToolCallEnd,
    text::{beginning_within, first_bytes, json_bytes},
};

/// Maximum size of one input or output in an event or message, in bytes.
pub const MAX_CALL_TEXT_BYTES: usize = 64 * 1024;

/// Maximum size of one error, in bytes.
pub const MAX_CALL_ERROR_BYTES: usize = 4 * 1024;

/// Maximum total size of the inputs, outputs and errors in one event or message, in bytes as JSON, for any number of
/// calls.
pub const MAX_CALLS_BYTES: usize = 512 * 1024;

/// Remaining bytes for the texts of calls.
#[derive(Clone, Copy, Debug)]
pub struct CallsBudget(usize);

impl Default for CallsBudget {
    /// Creates the budget of one event or message.
    fn default() -> Self {
        Self(MAX_CALLS_BYTES)
    }
}

impl CallsBudget {
    /// Returns `true` if the budget is not used up yet, and subtracts the lengths of a call's texts from it.
    ///
    /// Lets callers that know only the lengths of texts skip reading texts for which there is no room. The lengths must
    /// not exceed the lengths as JSON; otherwise calls whose texts fit could be skipped. After reading, truncate the
    /// texts with a second budget.
    pub fn reserve(&mut self, input: i64, proposed: Option<i64>, output: Option<i64>, error: Option<i64>) -> bool {
        let has_room = self.0 > 0;
        for (bytes, limit) in [
            (Some(input), MAX_CALL_TEXT_BYTES),
            (proposed, MAX_CALL_TEXT_BYTES),
            (output, MAX_CALL_TEXT_BYTES),
            (error, MAX_CALL_ERROR_BYTES),
        ] {
            let bytes = usize::try_from(bytes.unwrap_or(0)).unwrap_or(0);
            self.0 = self.0.saturating_sub(bytes.min(limit));
        }
        has_room
    }

    /// Truncates the texts of a call to the limits and to this budget. A call that was truncated before stays marked.
    pub fn fit(&mut self, call: &mut ToolCall) {
        if let Some(cut) = self.cut(&call.input) {
            call.input_bytes.get_or_insert(wire_len(&call.input.written()));
            call.input = cut;
            call.truncated = true;
        }
        if let Some(cut) = call.proposed_input.as_ref().and_then(|proposed| self.cut(proposed)) {
            call.proposed_input = Some(cut);
            call.truncated = true;
        }
        self.fit_result(call);
    }

    /// Returns the beginning of arguments that do not fit, or `None` if they fit.
    fn cut(&mut self, input: &RawJson) -> Option<RawJson> {
        let text = input.written();
        if let Cow::Borrowed(json) = text
            && json.len() <= MAX_CALL_TEXT_BYTES.min(self.0)
        {
            // The arguments fit, so they are sent unchanged.
            self.0 -= json.len();
            return None;
        }
        let kept = self.take(&text, MAX_CALL_TEXT_BYTES);
        (kept < text.len()).then(|| RawJson::string(&text[..kept]))
    }

    /// Truncates only the result of a call. The call's input must already be subtracted from the budget.
    pub fn fit_result(&mut self, call: &mut ToolCall) {
        self.fit_texts(&mut call.output, &mut call.output_bytes, &mut call.error, &mut call.truncated);
        if call.truncated {
            call.input_bytes.get_or_insert_with(|| wire_len(&call.input.written()));
        }
    }

    /// Truncates the result in an event that reports it.
    pub fn fit_end(&mut self, end: &mut ToolCallEnd) {
        self.fit_texts(&mut end.output, &mut end.output_bytes, &mut end.error, &mut end.truncated);
    }

    fn fit_texts(
        &mut self,
        output: &mut Option<String>,
        output_bytes: &mut Option<i64>,
        error: &mut Option<String>,
        truncated: &mut bool,
    ) {
        let whole = output_bytes.or_else(|| output.as_deref().map(wire_len));
        for (text, limit) in [(output, MAX_CALL_TEXT_BYTES), (error, MAX_CALL_ERROR_BYTES)] {
            let Some(text) = text else { continue };
            let kept = self.take(text, limit);
            *truncated |= kept < text.len();
            text.truncate(kept);
        }
        *output_bytes = whole.filter(|_| *truncated);
    }

    /// Returns how many bytes of a text fit, and subtracts their length as JSON from the budget. A control character
    /// can count as six bytes.
    fn take(&mut self, text: &str, limit: usize) -> usize {
        let kept = beginning_within(first_bytes(text, limit), self.0);
        self.0 -= json_bytes(kept);
        kept.len()
    }
}

/// Returns the length of a text in bytes, in the type that is sent.
fn wire_len(text: &str) -> i64 {
    i64::try_from(text.len()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::{CallsBudget, MAX_CALL_ERROR_BYTES, MAX_CALL_TEXT_BYTES, MAX_CALLS_BYTES, wire_len};
    use crate::{RawJson, ToolCall, ToolCallId, ToolCallStatus};

    fn call(input: &str, output: usize, error: usize) -> ToolCall {
        ToolCall {
            tool_call_id: ToolCallId(1),
            tool_name: "echo".to_owned(),
            input: RawJson::from_text(input),
            input_bytes: None,
            proposed_input: None,
            offset: 0,
            status: ToolCallStatus::Success,
            output: (output > 0).then(|| "計".repeat(output / 3)),
            output_bytes: None,
            error: (error > 0).then(|| "e".repeat(error)),
            error_type: None,
            truncated: false,
            duration_ms: Some(1),
            started_at: DateTime::UNIX_EPOCH,
            reviews: Vec::new(),
            decision: None,
            files: Vec::new(),
        }
    }

    #[test]
    fn a_call_within_the_limits_is_unchanged() {
        let mut fitted = call(r#"{"a": 1}"#, 3000, 100);
        CallsBudget::default().fit(&mut fitted);
        assert_eq!(fitted, call(r#"{"a": 1}"#, 3000, 100));
    }

    #[test]
    fn a_long_text_is_truncated_at_a_character_and_keeps_its_length() {
        let input = format!(r#"{{"a":"{}"}}"#, "\\n".repeat(MAX_CALL_TEXT_BYTES));
        let mut cut = call(&input, 3 * MAX_CALL_TEXT_BYTES, 2 * MAX_CALL_ERROR_BYTES);
        CallsBudget::default().fit(&mut cut);
        let kept: String = serde_json::from_str(cut.input.as_str()).unwrap();
        assert_eq!((kept.len(), input.starts_with(&kept)), (MAX_CALL_TEXT_BYTES, true));
        assert_eq!(cut.output.as_ref().unwrap().len(), MAX_CALL_TEXT_BYTES - MAX_CALL_TEXT_BYTES % 3);
        assert_eq!(cut.error.as_ref().unwrap().len(), MAX_CALL_ERROR_BYTES);
        let sizes = (cut.truncated, cut.input_bytes, cut.output_bytes);
        assert_eq!(sizes, (true, i64::try_from(input.len()).ok(), i64::try_from(3 * MAX_CALL_TEXT_BYTES).ok()));
        let again = cut.clone();
        CallsBudget::default().fit(&mut cut);
        assert_eq!(cut, again, "a second truncation changes nothing");
    }

    #[test]
    fn proposed_arguments_count_toward_the_limits() {
        let proposed = RawJson::from_text(&format!(r#"{{"a":"{}"}}"#, "x".repeat(2 * MAX_CALL_TEXT_BYTES)));
        let mut edited = ToolCall { proposed_input: Some(proposed), ..call(r#"{"a":1}"#, 0, 0) };
        CallsBudget::default().fit(&mut edited);
        assert!(edited.proposed_input.unwrap().as_str().len() < MAX_CALL_TEXT_BYTES + 100);
        assert_eq!((edited.truncated, edited.input_bytes, edited.input.as_str()), (true, Some(7), r#"{"a":1}"#));
    }

    #[test]
    fn many_calls_share_one_budget() {
        let mut budget = CallsBudget::default();
        let mut calls = vec![call("{}", 60_000, 0); 1000];
        for call in &mut calls {
            budget.fit(call);
        }
        let carried: usize = calls.iter().map(|call| call.output.as_ref().unwrap().len() + 2).sum();
        assert!(carried <= MAX_CALLS_BYTES + 2 * 1000, "{carried} bytes");
        assert!(!calls[0].truncated);
        assert_eq!((calls[999].truncated, calls[999].output_bytes), (true, Some(60_000)));
    }

    #[test]
    fn escaped_characters_count_with_their_escapes() {
        let mut budget = CallsBudget::default();
        let mut calls = vec![call("{}", 0, 0); 20];
        for call in &mut calls {
            call.input = RawJson::string(&"\u{1}".repeat(MAX_CALL_TEXT_BYTES / 2));
            call.output = Some("\n".repeat(MAX_CALL_TEXT_BYTES));
            budget.fit(call);
        }
        let carried = calls.iter().map(|call| call.input.as_str().len() + call.output.as_ref().unwrap().len() * 2);
        let carried: usize = carried.sum();
        assert!((MAX_CALLS_BYTES - 6..=MAX_CALLS_BYTES + 2 * 20).contains(&carried), "{carried} bytes");
    }

    #[test]
    fn lengths_alone_decide_which_calls_are_included() {
        let (mut lengths, mut texts) = (CallsBudget::default(), CallsBudget::default());
        let sizes = [(0, 0), (3000, 9000), (2 * MAX_CALL_TEXT_BYTES, 0), (90_000, 100)];
        for (output, error) in sizes.into_iter().cycle().take(100) {
            let mut call = call("{}", output, error);
            let (output, error) = (call.output.as_deref().map(wire_len), call.error.as_deref().map(wire_len));
            let is_carried = lengths.reserve(2, None, output, error);
            texts.fit(&mut call);
            let carried = [call.output, call.error].into_iter().flatten().map(|text| text.len()).sum::<usize>();
            // A truncated text ends at a character boundary, so a few bytes of the budget are left over.
            assert!(is_carried || carried < 30, "{carried} bytes");
        }
        assert!(!lengths.reserve(2, None, None, None));
    }
}
