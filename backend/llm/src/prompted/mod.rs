//! Tool calling for models without native support. Tools are described in the prompt, calls are parsed from the
//! answer's text, and results are sent back as text. The agent sees no difference, and the provider sees an ordinary
//! conversation.

mod block;
mod call;
mod client;
mod fence;
mod first_key;
mod json;
mod marked;
pub(crate) mod parser;
mod prompt;
mod python;
mod tag;
#[cfg(test)]
mod tests;
mod transcript;
mod xml;

pub(crate) use client::{Calls, in_text};
