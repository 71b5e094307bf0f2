//! Follows a direct model call for an API client.

use tallybook_conversations::PlainEvent;
use tokio::sync::mpsc;

use super::{
    refusal::Refusal,
    sink::{Progress, Sink, finish_of},
};

/// A direct model call that an API client follows.
pub(crate) struct PlainAnswer {
    events: mpsc::Receiver<PlainEvent>,
    /// Length of the text so far, in bytes.
    bytes: usize,
}

impl PlainAnswer {
    pub(crate) fn new(events: mpsc::Receiver<PlainEvent>) -> Self {
        Self { events, bytes: 0 }
    }

    /// Writes the next part of the answer. Nothing is lost if the future is dropped before it completes.
    pub(crate) async fn next(&mut self, sink: &mut impl Sink) -> Progress {
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
                // The task of the model call has died.
                None => return Progress::Failed(died()),
            }
            if sink.is_ready() {
                return Progress::More;
            }
        }
    }
}

fn died() -> Refusal {
    Refusal::of_turn("The server failed unexpectedly. Try again; its log says more.", "internal")
}

fn shut_down() -> Refusal {
    Refusal::of_turn("The server was restarted while it answered.", "shutdown")
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::{PlainAnswer, PlainEvent, Progress, Sink};

    struct Text(String);

    impl Sink for Text {
        fn text(&mut self, text: &str) {
            self.0.push_str(text);
        }

        fn is_ready(&self) -> bool {
            false
        }
    }

    #[tokio::test]
    async fn an_answer_whose_task_dies_has_failed() {
        let (told, events) = mpsc::channel(2);
        told.send(PlainEvent::Text("Nearly ".to_owned())).await.unwrap();
        drop(told);
        let mut text = Text(String::new());
        let end = PlainAnswer::new(events).next(&mut text).await;
        assert!(matches!(end, Progress::Failed(_)), "{end:?}");
        assert_eq!(text.0, "Nearly ");
    }
}
