//! The size limit of one answer.

use tallybook_protocol::json_bytes;

use super::{error::ModelError, limits::MAX_ANSWER_BYTES, reader::bad_stream};

/// Number of bytes that one answer may still take, out of `MAX_ANSWER_BYTES`.
#[derive(Debug)]
pub(crate) struct AnswerBudget(usize);

impl Default for AnswerBudget {
    fn default() -> Self {
        Self(MAX_ANSWER_BYTES)
    }
}

impl AnswerBudget {
    /// Deducts the size of `text`. Returns an error if the text does not fit.
    pub(crate) fn take(&mut self, text: &str) -> Result<(), ModelError> {
        self.take_bytes(json_bytes(text))
    }

    /// Deducts the size of a text that becomes part of a JSON block. Such a block is stored as a string within JSON, so
    /// its size counts twice.
    pub(crate) fn take_nested(&mut self, text: &str) -> Result<(), ModelError> {
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
        // A control character takes six bytes in the stored JSON.
        assert!(AnswerBudget::default().take(&"\u{1}".repeat(MAX_ANSWER_BYTES / 6)).is_ok());
        assert!(AnswerBudget::default().take(&"\u{1}".repeat(MAX_ANSWER_BYTES / 6 + 1)).is_err());
        assert!(AnswerBudget::default().take_nested(&"x".repeat(MAX_ANSWER_BYTES / 2 + 1)).is_err());
    }
}
