//! Redacts secret arguments as soon as a call is parsed, before anything stores, streams or logs it.

use tallybook_llm::{AssistantBlock, ToolCallRequest};
use tallybook_tools::{Secrets, hide_arguments};

use crate::{offer::AvailableTools, turn::SecretInput};

/// Returns `true` if a block contains one of these secrets. Only opaque blocks are checked: they hold a model's
/// reasoning, which must be kept as it is or not at all.
pub(crate) fn repeats<'a>(block: &AssistantBlock, mut secrets: impl Iterator<Item = &'a Secrets>) -> bool {
    matches!(block, AssistantBlock::Opaque { json, .. } if secrets.any(|values| values.occur_in(json)))
}

/// The redaction of the calls of a turn.
pub(crate) struct Redaction<'a> {
    pub(crate) offer: &'a AvailableTools,
    /// Secrets that no tool may receive. A call with such a secret does not run.
    pub(crate) secrets: &'a Secrets,
}

impl Redaction<'_> {
    /// Redacts the arguments that the schema of one of Tallybook's tools marks as secret. Returns the redacted call
    /// and, if the schema marks secrets in it, the full arguments to run it with. The schemas of client tools are not
    /// used: their arguments are the API client's responsibility.
    pub(crate) fn hide(&self, mut call: ToolCallRequest) -> (ToolCallRequest, Option<SecretInput>) {
        call.input_text = self.secrets.hide(call.input_text).into_owned();
        let schema = self.offer.find_schema(&call.name);
        let Some(hidden) = schema.and_then(|schema| hide_arguments(schema, &call.input_text)) else {
            return (call, None);
        };
        // A call whose arguments cannot be parsed does not run.
        let is_read = hidden.text.trim_start().starts_with('{');
        let whole = std::mem::replace(&mut call.input_text, hidden.text);
        let values = Secrets::of_arguments(hidden.values);
        self.secrets.remember(&values);
        (call, is_read.then_some(SecretInput { input_text: whole, values }))
    }
}
