//! The conversation on screen: state, inputs, effects, and the reducer between them. [`state::State`] holds all that is
//! known, an [`input::Input`] is an event, and an [`effect::Effect`] is an action outside the state. [`reduce`] makes
//! all decisions without a browser, so it is tested natively. `shell` keeps the signals that are rendered and carries
//! out effects. `actions` are the user's actions, `drawing` updates the rendered transcript once a frame, and `storage`
//! keeps unsent texts.

mod actions;
mod connection;
mod drawing;
mod effect;
mod files;
mod input;
mod queue;
mod reduce;
mod shell;
mod shown;
mod state;
mod storage;
#[cfg(test)]
mod tests;
mod unsent;

pub(crate) use drawing::DrawnEntry;
pub(crate) use files::{AttachedFile, FilesOf, Upload};
pub(crate) use queue::{Due, Queue, Queued};
pub(crate) use shell::{InitialConversation, Session, SessionCallbacks};
pub(crate) use shown::{Answer, AnswerEnd, Edited, Loading, Phase, Place, Step};
pub(crate) use storage::{
    draft_name, forget_conversation_drafts, forget_draft, keep_input, keep_queue, keep_reason, kept_input, kept_queue,
    kept_reason,
};
pub(crate) use unsent::UnsentMessage;
