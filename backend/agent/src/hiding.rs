//! Hiding in calls what nobody may read, as soon as they are read: what a step keeps, tells and logs of them lacks it.

use tallybook_llm::ToolCallRequest;
use tallybook_tools::{Secrets, hide_arguments};

use super::{offer::Offer, secret_input::SecretInput};

/// What is hidden in the calls of a turn.
pub(super) struct Hiding<'a> {
    pub(super) offer: &'a Offer,
    /// Values that are for no tool: a call that had one does not run.
    pub(super) secrets: &'a Secrets,
}

impl Hiding<'_> {
    /// The call without what the schema of a tool of ours marks as secret, and what it runs with where that is more. What a
    /// program's tool takes is the program's business.
    pub(super) fn hide(&self, mut call: ToolCallRequest) -> (ToolCallRequest, Option<SecretInput>) {
        call.input_text = self.secrets.hide(call.input_text).into_owned();
        let schema = self.offer.find_schema(&call.name);
        let Some(hidden) = schema.and_then(|schema| hide_arguments(schema, &call.input_text)) else {
            return (call, None);
        };
        // Nothing runs with arguments that cannot be read.
        let is_read = hidden.text.trim_start().starts_with('{');
        let whole = std::mem::replace(&mut call.input_text, hidden.text);
        let values = Secrets::of_arguments(hidden.values);
        self.secrets.remember(&values);
        (call, is_read.then_some(SecretInput { input_text: whole, values }))
    }
}
