//! A model that is asked once, as the answer to a program.

use tallybook_protocol::Usage;
use tokio::sync::mpsc;

use super::{
    refusal::Refusal,
    sink::{Progress, Sink, finish_of},
};
use crate::conversation::PlainEvent;

/// Follows a model that is asked once.
pub(super) struct PlainAnswer {
    events: mpsc::Receiver<PlainEvent>,
    /// Length of the text so far, in bytes.
    bytes: usize,
}

impl PlainAnswer {
    pub(super) fn new(events: mpsc::Receiver<PlainEvent>) -> Self {
        Self { events, bytes: 0 }
    }

    /// Writes what comes next. Nothing is lost when it is dropped before its end.
    pub(super) async fn next(&mut self, sink: &mut impl Sink) -> Progress {
        loop {
            match self.events.recv().await {
                Some(PlainEvent::Text(text)) => {
                    self.bytes += text.len();
                    sink.text(&text);
                }
                Some(PlainEvent::TextWasReasoning) if self.bytes > 0 => {
                    sink.text_taken_back(std::mem::take(&mut self.bytes));
                }
                Some(PlainEvent::TextWasReasoning) => {}
                Some(PlainEvent::Ended { stop_reason, usage }) => {
                    return Progress::Ended { finish: finish_of(stop_reason.as_str()), usage };
                }
                Some(PlainEvent::Failed(error)) => return Progress::Failed(Refusal::of_model(&error)),
                Some(PlainEvent::ShutDown) => return Progress::Failed(shut_down()),
                None => return Progress::Ended { finish: "stop", usage: Usage::default() },
            }
            if sink.is_ready() {
                return Progress::More;
            }
        }
    }
}

fn shut_down() -> Refusal {
    Refusal::of_turn("The server was restarted while it answered.", "shutdown")
}
