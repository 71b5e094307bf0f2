//! How many tokens a question and its answer take in a history: as many as the provider counted, where its figures can tell,
//! else an estimate.

use tallybook_llm::{ModelMessage, tokens};
use tallybook_protocol::MessageId;

use super::super::store::rows::{MessageRow, ModelCallRow};

/// How often an estimate may hold what was counted, or the other way round. What is further from it was counted otherwise.
const MAX_RATIO: usize = 3;

/// What a provider counted at the end of an answer: all that the model was told, and what it wrote last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Counted {
    provider: String,
    model: String,
    /// The first message that was told.
    told_from: Option<MessageId>,
    tokens: usize,
}

impl Counted {
    /// By the last step of an answer that is whole; nothing where the provider counts nothing.
    pub(super) fn of<'a>(answer: &MessageRow, steps: impl Iterator<Item = &'a ModelCallRow>) -> Option<Self> {
        let last = steps.filter(|step| step.error.is_none()).last()?;
        let tokens = usize::try_from(last.input_tokens.checked_add(last.output_tokens)?).ok()?;
        let (provider, model) = (last.provider.clone(), last.model.clone());
        Some(Self { provider, model, told_from: answer.told.told_from, tokens })
    }

    /// What was told and written since then, where the same model was told the same before.
    fn since(&self, before: &Self) -> Option<usize> {
        let is_same =
            (&self.provider, &self.model, self.told_from) == (&before.provider, &before.model, before.told_from);
        self.tokens.checked_sub(before.tokens).filter(|_| is_same)
    }
}

/// How many tokens an exchange takes, by what was counted at its end and at that of the exchange before it.
pub(super) fn tokens_of(exchange: &[ModelMessage], before: Option<&Counted>, counted: Option<&Counted>) -> usize {
    let estimate: usize = exchange.iter().map(tokens::of_message).sum();
    let exact = before.zip(counted).and_then(|(before, counted)| counted.since(before));
    let is_likely = |&exact: &usize| exact * MAX_RATIO >= estimate && exact <= estimate * MAX_RATIO;
    exact.filter(is_likely).unwrap_or(estimate)
}

#[cfg(test)]
mod tests {
    use super::{Counted, MessageId, ModelMessage, tokens_of};

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
        // Nothing before, or nothing counted.
        assert_eq!(tokens(None, Some(counted(60))), estimate);
        assert_eq!(tokens(Some(counted(1000)), None), estimate);
        // Figures that cannot be those of this exchange: none, less, far less, far more.
        for after in [1000, 900, 1033, 1301] {
            assert_eq!(tokens(Some(counted(1000)), Some(counted(after))), estimate, "{after}");
        }
        // Another model counts otherwise, and what was told of before is not the same any more.
        let other = Counted { model: "n".to_owned(), ..counted(1060) };
        let shorter = Counted { told_from: Some(MessageId(7)), ..counted(1060) };
        for after in [other, shorter] {
            assert_eq!(tokens(Some(counted(1000)), Some(after)), estimate);
        }
    }
}
