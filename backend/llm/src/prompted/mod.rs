//! Tool calling for models that have none: tools are described in the prompt, calls are read out of the answer's text,
//! and their results go back as text. The agent sees no difference, and the provider sees a plain conversation.

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

pub(super) use client::{Calls, in_text};
