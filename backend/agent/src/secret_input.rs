//! Calls with secret arguments: what of them is kept, told and logged, and what they run with.

use tallybook_llm::{AssistantBlock, ToolCallRequest};
use tallybook_tools::{HIDDEN, Secrets, hide_arguments};

use super::offer::Offer;

/// The arguments of a call some of which are secret. They are in memory alone, and gone with the step.
#[derive(Clone)]
pub struct SecretInput {
    /// All of them.
    pub(super) input_text: String,
    /// The secret ones, which the tool may repeat.
    pub(super) values: Secrets,
}

impl std::fmt::Debug for SecretInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(HIDDEN)
    }
}

/// What is hidden in the calls of a turn.
pub(super) struct Hiding<'a> {
    pub(super) offer: &'a Offer,
    /// Values that are for no tool, so nothing runs with them.
    pub(super) secrets: &'a Secrets,
}

impl Hiding<'_> {
    /// The call without what the schema of a tool of ours marks as secret, and what it runs with where that is more. What a
    /// program's tool takes is the program's business.
    pub(super) fn hide(&self, mut call: ToolCallRequest) -> (ToolCallRequest, Option<SecretInput>) {
        call.input_text = self.secrets.hide(call.input_text).into_owned();
        let tool = self.offer.find_ours(&call.name);
        let Some(hidden) = tool.and_then(|tool| hide_arguments(&tool.input_schema, &call.input_text)) else {
            return (call, None);
        };
        let whole = std::mem::replace(&mut call.input_text, hidden.text);
        // Nothing runs with arguments that cannot be read.
        let is_read = !hidden.values.is_empty();
        (call, is_read.then(|| SecretInput { input_text: whole, values: Secrets::new(hidden.values) }))
    }
}

/// Whether a block repeats one of these: what a model thought, which can only be kept as it is, or not at all.
pub(super) fn repeats<'a>(block: &AssistantBlock, mut secrets: impl Iterator<Item = &'a Secrets>) -> bool {
    matches!(block, AssistantBlock::Opaque { json, .. } if secrets.any(|values| values.occur_in(json)))
}
