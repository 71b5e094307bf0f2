//! Traits for receivers of an answer as it arrives. `chunk` implements them for chat completions, `responses` and
//! `thread` for the other APIs. Also the progress of an answer, and its finish reason.

use bytes::Bytes;
use serde::Serialize;
use tallybook_agent::{CLIENT_CALLS, STEP_LIMIT};
use tallybook_conversations::ClientCall;
use tallybook_protocol::{MessageEnd, ToolCallEnd, ToolCallStart, Usage};

use super::error::Refusal;

/// A receiver of an answer as it arrives.
pub(crate) trait Sink {
    /// Receives text that continues the answer.
    fn text(&mut self, text: &str);

    /// Retracts the end of the text, of this length in bytes, because it was reasoning. A stream cannot retract text
    /// that it has sent, so an empty line separates that text from the answer.
    fn text_taken_back(&mut self, _: usize) {
        self.text("\n\n");
    }

    /// Receives reasoning of the model, which is not part of the answer.
    fn reasoning(&mut self, _: &str) {}

    /// Called when one of Tallybook's own tools starts.
    fn tool_started(&mut self, _: &ToolCallStart) {}

    /// Called when one of Tallybook's own tools has returned.
    fn tool_ended(&mut self, _: &ToolCallEnd) {}

    /// Receives the calls of client tools with which the answer ends.
    fn client_calls(&mut self, _: Vec<ClientCall>) {}

    /// Called at the end of a run of the turn: the last run, or a run after which calls wait for approval.
    fn run_ended(&mut self, _: &MessageEnd) {}

    /// Returns `true` if there is something to send.
    fn is_ready(&self) -> bool;
}

/// A receiver that writes an answer as a stream.
pub(crate) trait Writer: Sink {
    /// Starts the answer, unless it has started.
    fn begin(&mut self);

    /// Returns a keep-alive, which only shows that the answer is still in progress.
    fn keep_alive(&mut self) -> Bytes;

    /// Ends a complete answer.
    fn end(&mut self, finish: &str, usage: Usage);

    /// Ends an answer that failed.
    fn fail(&mut self, refusal: &Refusal);

    /// Takes the bytes to send.
    fn take(&mut self) -> Bytes;
}

/// Progress of an answer.
#[derive(Debug)]
pub(crate) enum Progress {
    /// There is something to send, and more may follow.
    More,
    /// The answer is complete.
    Ended {
        /// Finish reason in OpenAI's terms.
        finish: &'static str,
        usage: Usage,
    },
    /// The answer is not complete, and nothing more follows.
    Failed(Refusal),
}

/// Appends a `data:` line with this JSON to a stream. Serialization cannot fail, because answers consist of strings,
/// numbers and valid JSON.
pub(crate) fn append_data(out: &mut Vec<u8>, data: &impl Serialize) {
    out.extend_from_slice(b"data: ");
    let _ = serde_json::to_writer(&mut *out, data);
    out.extend_from_slice(b"\n\n");
}

/// Returns OpenAI's finish reason for a stop reason. An answer that used up its steps, and an answer with an unknown
/// stop reason, count as truncated.
pub(crate) fn finish_of(stop_reason: &str) -> &'static str {
    match stop_reason {
        "max_tokens" | STEP_LIMIT => "length",
        "refusal" => "content_filter",
        CLIENT_CALLS => "tool_calls",
        "" | "end_turn" | "tool_use" | "pause_turn" => "stop",
        // A stop reason that only the provider defines.
        _ => "length",
    }
}
