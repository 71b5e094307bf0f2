//! What a call with secret arguments runs with. What of it is kept, told and logged is decided in `hiding`.

use tallybook_llm::AssistantBlock;
use tallybook_tools::{HIDDEN, Secrets};

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

/// Whether a block repeats one of these: what a model thought, which can only be kept as it is, or not at all.
pub(super) fn repeats<'a>(block: &AssistantBlock, mut secrets: impl Iterator<Item = &'a Secrets>) -> bool {
    matches!(block, AssistantBlock::Opaque { json, .. } if secrets.any(|values| values.occur_in(json)))
}
