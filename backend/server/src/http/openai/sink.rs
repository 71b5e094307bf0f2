//! What an answer is written into as it comes: a stream (`chunk`), or one answer (`whole`), or those of another API
//! (`responses`, `thread`); and how it ends.

use bytes::Bytes;
use tallybook_agent::{CLIENT_CALLS, STEP_LIMIT};
use tallybook_protocol::{MessageEnd, ToolCallEnd, ToolCallStart, Usage};

use super::refusal::Refusal;
use crate::conversation::ClientCall;

/// Takes an answer as it comes.
pub(super) trait Sink {
    /// The answer goes on with this text.
    fn text(&mut self, text: &str);

    /// Takes back the end of the text, of this length in bytes, which was reasoning. A stream cannot take back what it has sent,
    /// so an empty line separates that from the answer.
    fn text_taken_back(&mut self, _: usize) {
        self.text("\n\n");
    }

    /// The model showed this of its thinking, which is no part of the answer.
    fn reasoning(&mut self, _: &str) {}

    /// One of our own tools is called.
    fn tool_started(&mut self, _: &ToolCallStart) {}

    /// One of our own tools has given its result.
    fn tool_ended(&mut self, _: &ToolCallEnd) {}

    /// The answer ends with calls of the program's own tools.
    fn client_calls(&mut self, _: Vec<ClientCall>) {}

    /// A run of the turn is over: the last one, or one after which calls wait for consent.
    fn run_ended(&mut self, _: &MessageEnd) {}

    /// Whether there is something that can be sent by now.
    fn is_ready(&self) -> bool;
}

/// Writes an answer as a stream.
pub(super) trait Writer: Sink {
    /// Begins the answer, unless it has begun.
    fn begin(&mut self);

    /// What says nothing but that the answer is still being worked on.
    fn sign_of_life(&mut self) -> Bytes;

    /// Ends a whole answer.
    fn end(&mut self, finish: &str, usage: Usage);

    /// Ends an answer that failed.
    fn fail(&mut self, refusal: &Refusal);

    /// What there is to send.
    fn take(&mut self) -> Bytes;
}

/// How far an answer is.
#[derive(Debug)]
pub(super) enum Progress {
    /// There is something to send, and more may come.
    More,
    /// It is whole.
    Ended {
        /// Why, in OpenAI's word.
        finish: &'static str,
        usage: Usage,
    },
    /// It is not, and nothing more comes.
    Failed(Refusal),
}

/// OpenAI's word for why an answer ended. One that used up its steps was cut short by a limit, too, and one that ended for
/// an unknown reason counts as cut off.
pub(super) fn finish_of(stop_reason: &str) -> &'static str {
    match stop_reason {
        "max_tokens" | STEP_LIMIT => "length",
        "refusal" => "content_filter",
        CLIENT_CALLS => "tool_calls",
        "" | "end_turn" | "tool_use" | "pause_turn" => "stop",
        // The provider's word for a cause of its own.
        _ => "length",
    }
}
