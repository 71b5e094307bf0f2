//! The trait `Tool`, the registry of tools, and the list of built-in tools, one file per tool. Tools do not depend on models, SQL,
//! the HTTP server or the web UI.

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
mod principal;
mod progress;
mod registry;
mod secrets;
mod slots;
mod subtract;
#[cfg(test)]
mod tests;
mod tool;

pub use error::ToolError;
pub use fetch_page::{AllowedHost, BadHost, FetchPage, FetchPageError};
pub use limits::MAX_INPUT_BYTES;
pub use principal::UserKey;
pub use progress::{Progress, ProgressSender};
pub use registry::{AdmittedCall, AnyTool, RegistryError, ToolRegistry, is_tool_name, server_in};
pub use secrets::{HIDDEN, HiddenArguments, Secrets, hide_arguments};
pub use slots::{FairSemaphore, Slot};
pub use tool::{Risk, Tool, ToolOutput, ToolSpec};

/// Returns the built-in tools. To add a tool, add a file and a line here.
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
