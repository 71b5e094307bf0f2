//! Tests of the built-in tools. They call the tools as the agent does: through the registry, with arguments as text.

mod arithmetic;
mod convert_units;
mod current_time;
mod evaluate;
mod properties;
mod units;

use super::{ToolError, builtin};

/// Calls a tool and returns the text of its output, or its error.
async fn call(tool: &str, input_text: &str) -> Result<String, ToolError> {
    builtin().unwrap().call(tool, input_text).await.map(|output| output.text)
}

/// Returns the error message of a call that must fail.
async fn failure(tool: &str, input_text: &str) -> String {
    call(tool, input_text).await.unwrap_err().message
}

#[test]
fn the_schemas_that_models_see() {
    let specs = builtin().unwrap().specs();
    let shown = specs.iter().map(|spec| {
        serde_json::json!({
            "name": spec.name, "description": spec.description, "input_schema": spec.input_schema,
            "risk": spec.risk.as_str(), "idempotent": spec.idempotent,
        })
    });
    insta::assert_json_snapshot!(shown.collect::<Vec<_>>());
}

#[test]
fn contributing_quotes_the_example_that_is_compiled() {
    let guide = include_str!("../../../CONTRIBUTING.md");
    let example = include_str!("example.rs");
    assert!(guide.contains(&format!("```rust\n{example}```")), "CONTRIBUTING.md must quote tools/example.rs as it is");
}
