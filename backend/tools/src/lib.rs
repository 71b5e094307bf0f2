//! Tools: what a tool is, and the table of contents of those built in. One file per tool. Tools know nothing of
//! models, SQL, HTTP or the page.

mod add;
mod decimal;
mod divide;
mod error;
mod evaluate;
#[cfg(test)]
mod example;
mod multiply;
pub mod notation;
mod registry;
mod subtract;
#[cfg(test)]
mod tests;
mod tool;

pub use error::ToolError;
pub use registry::{MAX_INPUT_BYTES, RegistryError, ToolRegistry};
pub use tool::{Risk, Tool, ToolOutput, ToolSpec};

/// The tools that come with Tallybook. This list is the table of contents: a new tool is one file and one line here.
pub fn builtin() -> Result<ToolRegistry, RegistryError> {
    ToolRegistry::default()
        .with(add::Add)?
        .with(subtract::Subtract)?
        .with(multiply::Multiply)?
        .with(divide::Divide)?
        .with(evaluate::Evaluate)
}
