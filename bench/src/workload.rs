//! The workload of a turn. The question contains it, so the model needs no other input, no matter what is between
//! client and model.

use std::time::Duration;

use crate::mark;

/// Text after a note.
const NOTE_END: &str = " noted";

/// The workload of one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Workload {
    /// Number of text deltas.
    pub(crate) tokens: usize,
    /// Pause between two deltas; zero for none.
    pub(crate) gap: Duration,
    /// `true` if the model first calls a tool.
    pub(crate) uses_tool: bool,
    /// `true` if tokens carry their number instead of the time, so that the expected answer is known.
    pub(crate) is_numbered: bool,
}

impl Workload {
    /// A turn in which the model first calls a tool and then answers without pauses.
    pub(crate) const TOOL_TURN: Self = Self { tokens: 200, gap: Duration::ZERO, uses_tool: true, is_numbered: false };

    /// Returns the question that asks for this workload.
    pub(crate) fn question(self) -> String {
        let Self { tokens, gap, uses_tool, is_numbered } = self;
        let (tool, numbered) = (u8::from(uses_tool), u8::from(is_numbered));
        format!("bench tokens={tokens} gap_us={} tool={tool} numbered={numbered} end", gap.as_micros())
    }

    /// Like [`Self::question`], but the model also has to call the `witness` tool once with this note.
    pub(crate) fn question_with_note(self, note: &str) -> String {
        format!("{} note={note}{NOTE_END}", self.question())
    }

    /// Returns the note in the last question of a request body, if there is one.
    pub(crate) fn find_note(body: &str) -> Option<&str> {
        let (_, words) = body.rsplit_once(" end note=")?;
        words.split_once(NOTE_END).map(|(note, _)| note)
    }

    /// Returns the text of a delta.
    pub(crate) fn token(self, number: usize) -> String {
        let mark = if self.is_numbered { u64::try_from(number).unwrap_or(u64::MAX) } else { mark::now() };
        format!("{} ", mark::write(mark))
    }

    /// Returns the whole answer, if tokens are numbered.
    pub(crate) fn answer(self) -> String {
        (0..self.tokens).map(|number| self.token(number)).collect()
    }

    /// Returns the workload in the last question of a request body, if there is one.
    pub(crate) fn find(body: &str) -> Option<Self> {
        let (_, words) = body.rsplit_once("bench tokens=")?;
        let (words, _) = words.split_once(" end")?;
        let mut words = words.split(' ');
        let tokens = words.next()?.parse().ok()?;
        let gap = words.next()?.strip_prefix("gap_us=")?.parse().ok()?;
        let uses_tool = words.next()?.strip_prefix("tool=")? == "1";
        let is_numbered = words.next()?.strip_prefix("numbered=")? == "1";
        Some(Self { tokens, gap: Duration::from_micros(gap), uses_tool, is_numbered })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Workload;

    #[test]
    fn a_question_contains_its_workload() {
        let asked = Workload { tokens: 200, gap: Duration::from_millis(10), uses_tool: true, is_numbered: true };
        let body = serde_json::json!({"messages": [{"role": "user", "content": asked.question()}]}).to_string();
        assert_eq!(Workload::find(&body), Some(asked));
        assert_eq!((Workload::find("{}"), Workload::find_note(&body)), (None, None));
        let noting = serde_json::json!({"content": asked.question_with_note("n-1"), "stream": true}).to_string();
        assert_eq!((Workload::find(&noting), Workload::find_note(&noting)), (Some(asked), Some("n-1")));
        assert_eq!(Workload { tokens: 2, ..asked }.answer(), "~0000000000000000 ~0000000000000001 ");
    }
}
