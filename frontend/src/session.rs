//! The conversation on screen while it lives. What it knows is one [`state::State`]; what happens is an [`input::Input`];
//! what is to be done about it in the world is an [`effect::Effect`]. All decisions are in [`reduce`], which touches no
//! browser and is tested natively. Around it the `shell` keeps the signals that are drawn and carries out the effects, `actions` say
//! what a reader did, `drawing` shows what is known frame by frame, and `storage` keeps what is being written.

mod actions;
mod drawing;
mod effect;
mod input;
mod queue;
mod reader;
mod reduce;
mod shell;
mod shown;
mod state;
mod storage;
#[cfg(test)]
mod tests;
mod unsent;

pub(crate) use drawing::DrawnEntry;
pub(crate) use queue::{Due, Queue, Queued};
pub(crate) use shell::{First, Session, Ways};
pub(crate) use shown::{Answer, AnswerEnd, Edited, Loading, Phase, Place, Step};
pub(crate) use storage::{
    draft_name, forget_draft, keep_input, keep_queue, keep_reason, kept_input, kept_queue, kept_reason,
};
