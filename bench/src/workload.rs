//! What a turn is to be like. It travels in the question, so that the model needs no other word, whoever stands between.

use std::time::Duration;

/// One turn's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Workload {
    /// How many deltas of text there are.
    pub(crate) tokens: usize,
    /// The pause between two of them; zero for none.
    pub(crate) gap: Duration,
    /// Whether the model calls a tool first.
    pub(crate) uses_tool: bool,
}

impl Workload {
    /// The question that asks for it.
    pub(crate) fn question(self) -> String {
        let Self { tokens, gap, uses_tool } = self;
        format!("bench tokens={tokens} gap_us={} tool={} end", gap.as_micros(), u8::from(uses_tool))
    }

    /// What the last question in a request's body asks for, if it asks for anything.
    pub(crate) fn find(body: &str) -> Option<Self> {
        let (_, words) = body.rsplit_once("bench tokens=")?;
        let (words, _) = words.split_once(" end")?;
        let mut words = words.split(' ');
        let tokens = words.next()?.parse().ok()?;
        let gap = words.next()?.strip_prefix("gap_us=")?.parse().ok()?;
        let tool = words.next()?.strip_prefix("tool=")?;
        Some(Self { tokens, gap: Duration::from_micros(gap), uses_tool: tool == "1" })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Workload;

    #[test]
    fn a_question_says_what_it_asks_for() {
        let asked = Workload { tokens: 200, gap: Duration::from_millis(10), uses_tool: true };
        let body = serde_json::json!({"messages": [{"role": "user", "content": asked.question()}]}).to_string();
        assert_eq!(Workload::find(&body), Some(asked));
        assert_eq!(Workload::find("{}"), None);
    }
}
