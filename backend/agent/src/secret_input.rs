//! The full arguments of a call that has secret ones. `hiding` decides which arguments are stored, streamed and logged.

use tallybook_llm::AssistantBlock;
use tallybook_tools::{HIDDEN, Secrets};

/// The arguments of a call, some of which are secret. They are only in memory, and dropped with the step.
#[derive(Clone)]
pub struct SecretInput {
    /// The complete arguments.
    pub(crate) input_text: String,
    /// The secret values, which the tool may repeat in its output.
    pub(crate) values: Secrets,
}

impl std::fmt::Debug for SecretInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(HIDDEN)
    }
}

/// Returns whether a block contains one of these secrets. Only opaque blocks are checked: they hold a model's
/// reasoning, which must be kept as it is or not at all.
pub(crate) fn repeats<'a>(block: &AssistantBlock, mut secrets: impl Iterator<Item = &'a Secrets>) -> bool {
    matches!(block, AssistantBlock::Opaque { json, .. } if secrets.any(|values| values.occur_in(json)))
}
