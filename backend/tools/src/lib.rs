//! Tools: what a tool is, and the table of contents of those built in. One file per tool. Tools know nothing of
//! models, SQL, HTTP or the page.

mod add;
mod compute;
mod convert_units;
mod current_time;
mod decimal;
mod divide;
mod error;
mod evaluate;
#[cfg(test)]
mod example;
mod fetch_page;
mod limits;
mod multiply;
pub mod notation;
mod progress;
mod registry;
mod secrets;
mod slots;
mod subtract;
#[cfg(test)]
mod tests;
mod tool;
mod whose;

pub use error::ToolError;
pub use fetch_page::{AllowedHost, BadHost, FetchPage, FetchPageError};
pub use limits::MAX_INPUT_BYTES;
pub use progress::{Progress, ProgressSender};
pub use registry::{AnyTool, BegunCall, RegistryError, ToolRegistry, is_tool_name, server_in};
pub use secrets::{HIDDEN, HiddenArguments, Secrets, hide_arguments};
pub use slots::{Slot, Slots};
pub use tool::{Risk, Tool, ToolOutput, ToolSpec};
pub use whose::Whose;

/// The tools that come with Tallybook. This list is the table of contents: a new tool is one file and one line here.
pub fn builtin() -> Result<ToolRegistry, RegistryError> {
    ToolRegistry::default()
        .with(add::Add)?
        .with(subtract::Subtract)?
        .with(multiply::Multiply)?
        .with(divide::Divide)?
        .with(evaluate::Evaluate)?
        .with(convert_units::ConvertUnits)?
        .with(current_time::CurrentTime::default())
}
