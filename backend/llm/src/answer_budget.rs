//! The bound on what one answer may hold.

use tallybook_protocol::json_bytes;

use super::{error::ModelError, limits::MAX_ANSWER_BYTES, reader::bad_stream};

/// How many bytes one answer may still take, of `MAX_ANSWER_BYTES`.
#[derive(Debug)]
pub(super) struct AnswerBudget(usize);

impl Default for AnswerBudget {
    fn default() -> Self {
        Self(MAX_ANSWER_BYTES)
    }
}

impl AnswerBudget {
    /// Makes sure that `text` still fits.
    pub(super) fn take(&mut self, text: &str) -> Result<(), ModelError> {
        self.take_bytes(json_bytes(text))
    }

    /// The same for a text that is kept as part of a block of JSON, which is stored as a text within JSON.
    pub(super) fn take_nested(&mut self, text: &str) -> Result<(), ModelError> {
        self.take_bytes(json_bytes(text).saturating_mul(2))
    }

    fn take_bytes(&mut self, bytes: usize) -> Result<(), ModelError> {
        let left = self.0.checked_sub(bytes);
        self.0 = left.ok_or_else(|| bad_stream(format!("it is longer than {MAX_ANSWER_BYTES} bytes")))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{AnswerBudget, MAX_ANSWER_BYTES};

    #[test]
    fn an_endless_answer_is_refused() {
        let mut budget = AnswerBudget::default();
        assert!(budget.take(&"x".repeat(MAX_ANSWER_BYTES)).is_ok());
        assert!(budget.take("x").is_err());
        // Control characters take six bytes where the answer is stored.
        assert!(AnswerBudget::default().take(&"\u{1}".repeat(MAX_ANSWER_BYTES / 6)).is_ok());
        assert!(AnswerBudget::default().take(&"\u{1}".repeat(MAX_ANSWER_BYTES / 6 + 1)).is_err());
        assert!(AnswerBudget::default().take_nested(&"x".repeat(MAX_ANSWER_BYTES / 2 + 1)).is_err());
    }
}
