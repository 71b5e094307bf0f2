//! Tool calling for models that have none: tools are described in the prompt, calls are read out of the answer's text,
//! and their results go back as text. A model client around another one, so that the agent sees no difference, and the
//! provider underneath a plain conversation.

mod auto;
mod block;
mod call;
mod client;
mod fence;
mod json;
mod lead;
mod marked;
pub(super) mod parser;
mod prompt;
mod python;
mod tag;
#[cfg(test)]
mod tests;
mod transcript;
mod xml;

pub(super) use auto::Auto;
pub(super) use client::Prompted;
