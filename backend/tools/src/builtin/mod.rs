//! The list of built-in tools, one file per tool.

mod add;
pub(crate) mod convert_units;
pub(crate) mod current_time;
mod divide;
mod evaluate;
pub(crate) mod fetch_page;
mod multiply;
mod subtract;

use crate::registry::{RegistryError, ToolRegistry};

/// Returns the built-in tools. To add a tool, add a file and a line here. `fetch_page` has settings, so the server adds
/// it.
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
