//! Calculates the tokens of a question and its answer in a history: the provider's count if it can be derived from the
//! stored usage, otherwise an estimate.

use tallybook_llm::{ModelMessage, tokens};
use tallybook_protocol::MessageId;

use crate::store::rows::{MessageRow, ModelCallRow};

/// Maximum ratio of the estimate to the provider's count, in either direction. If the ratio is larger, the count is not
/// comparable and not used.
const MAX_RATIO: usize = 3;

/// Tokens that a provider counted at the end of an answer: the whole prompt of the last step, and its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Counted {
    provider: String,
    model: String,
    /// First message that the prompt contained in full. `None` if that was the first message of the conversation.
    told_from: Option<MessageId>,
    tokens: usize,
}

impl Counted {
    /// Returns the count of the answer's last complete step. `None` if it has no complete step.
    pub(crate) fn of<'a>(answer: &MessageRow, steps: impl Iterator<Item = &'a ModelCallRow>) -> Option<Self> {
        let last = steps.filter(|step| step.error.is_none()).last()?;
        let tokens = usize::try_from(last.input_tokens.checked_add(last.output_tokens)?).ok()?;
        let (provider, model) = (last.provider.clone(), last.model.clone());
        Some(Self { provider, model, told_from: answer.told.told_from, tokens })
    }

    /// Returns the tokens that were added since `before`. `None` if the counts are not of the same model and the same
    /// start of the prompt.
    fn since(&self, before: &Self) -> Option<usize> {
        let is_same =
            (&self.provider, &self.model, self.told_from) == (&before.provider, &before.model, before.told_from);
        self.tokens.checked_sub(before.tokens).filter(|_| is_same)
    }
}

/// Returns the tokens of an exchange, based on the counts at its end and at the end of the exchange before it.
pub(crate) fn tokens_of(exchange: &[ModelMessage], before: Option<&Counted>, counted: Option<&Counted>) -> usize {
    let estimate: usize = exchange.iter().map(tokens::of_message).sum();
    let exact = before.zip(counted).and_then(|(before, counted)| counted.since(before));
    let is_likely = |&exact: &usize| exact * MAX_RATIO >= estimate && exact <= estimate * MAX_RATIO;
    exact.filter(is_likely).unwrap_or(estimate)
}

#[cfg(test)]
mod tests {
    use crate::turn::context::exchange_tokens::{Counted, MessageId, ModelMessage, tokens_of};

    fn counted(tokens: usize) -> Counted {
        Counted { provider: "anthropic".to_owned(), model: "m".to_owned(), told_from: None, tokens }
    }

    #[test]
    fn the_providers_figures_count_where_they_can_be_compared() {
        let exchange = [ModelMessage::user_text("x".repeat(276))];
        let tokens =
            |before: Option<Counted>, after: Option<Counted>| tokens_of(&exchange, before.as_ref(), after.as_ref());
        let estimate = 100;
        assert_eq!(tokens(Some(counted(1000)), Some(counted(1060))), 60);
        assert_eq!(tokens(Some(counted(1000)), Some(counted(1250))), 250);
        // No count before the exchange, or none at its end.
        assert_eq!(tokens(None, Some(counted(60))), estimate);
        assert_eq!(tokens(Some(counted(1000)), None), estimate);
        // Counts that cannot be those of this exchange: no difference, less than before, much too small, much too
        // large.
        for after in [1000, 900, 1033, 1301] {
            assert_eq!(tokens(Some(counted(1000)), Some(counted(after))), estimate, "{after}");
        }
        // Another model counts differently. A prompt that starts at another message cannot be compared.
        let other = Counted { model: "n".to_owned(), ..counted(1060) };
        let shorter = Counted { told_from: Some(MessageId(7)), ..counted(1060) };
        for after in [other, shorter] {
            assert_eq!(tokens(Some(counted(1000)), Some(after)), estimate);
        }
    }
}
