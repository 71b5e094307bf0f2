//! Which tools there are, and calling one by name with the text that a model wrote.

use std::{collections::BTreeMap, sync::Arc};

use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;

use super::{Tool, ToolError, ToolOutput, ToolSpec};

/// A tool could not be registered; a mistake in the program, found at start.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// The name is not 1 to 64 of `a-z A-Z 0-9 _ -`.
    #[error("{0:?} is not a tool name: use 1 to 64 letters, digits, '_' or '-'")]
    BadName(String),
    /// Two tools share a name.
    #[error("there are two tools named {0:?}")]
    Duplicate(String),
}

/// The tools on offer, by name.
#[derive(Clone, Default)]
pub struct ToolRegistry {
    tools: BTreeMap<String, Arc<dyn AnyTool>>,
}

impl ToolRegistry {
    /// The registry with one more tool in it.
    pub fn with<T: Tool>(mut self, tool: T) -> Result<Self, RegistryError> {
        let valid = !T::NAME.is_empty()
            && T::NAME.len() <= 64
            && T::NAME.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
        if !valid {
            return Err(RegistryError::BadName(T::NAME.to_owned()));
        }
        let entry = Entry { spec: spec_of::<T>(), tool };
        if self.tools.insert(T::NAME.to_owned(), Arc::new(entry)).is_some() {
            return Err(RegistryError::Duplicate(T::NAME.to_owned()));
        }
        Ok(self)
    }

    /// What models are told, in the order of names.
    pub fn specs(&self) -> Arc<[ToolSpec]> {
        self.tools.values().map(|tool| tool.spec().clone()).collect()
    }

    /// What a model is told of one tool.
    pub fn find_spec(&self, name: &str) -> Option<&ToolSpec> {
        self.tools.get(name).map(|tool| tool.spec())
    }

    /// Calls a tool with arguments as a model wrote them. Fails with `unknown_tool` or `invalid_argument` before any
    /// of the tool's code runs, otherwise with what the tool says. Sets no timeout and catches no panic: the agent does.
    pub fn call(&self, name: &str, input_text: &str) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        let Some(tool) = self.tools.get(name).cloned() else {
            let known = self.tools.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            let error = ToolError::other("unknown_tool", format!("there is no tool {name:?}; there are: {known}"));
            return Box::pin(std::future::ready(Err(error)));
        };
        tool.call(input_text.to_owned())
    }
}

impl std::fmt::Debug for ToolRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.tools.keys()).finish()
    }
}

/// A tool whose argument type is forgotten, so that a registry can hold many kinds.
trait AnyTool: Send + Sync {
    fn spec(&self) -> &ToolSpec;
    fn call(self: Arc<Self>, input_text: String) -> BoxFuture<'static, Result<ToolOutput, ToolError>>;
}

struct Entry<T> {
    spec: ToolSpec,
    tool: T,
}

impl<T: Tool> AnyTool for Entry<T> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(self: Arc<Self>, input_text: String) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move { self.tool.call(parse_args(&input_text)?).await })
    }
}

fn spec_of<T: Tool>() -> ToolSpec {
    let settings = schemars::generate::SchemaSettings::draft2020_12().with(|s| {
        s.meta_schema = None;
        s.inline_subschemas = true;
    });
    let mut input_schema = settings.into_generator().into_root_schema_for::<T::Args>().to_value();
    if let Some(object) = input_schema.as_object_mut() {
        object.remove("title");
    }
    ToolSpec {
        name: T::NAME.to_owned(),
        description: T::DESCRIPTION.to_owned(),
        input_schema,
        risk: T::RISK,
        idempotent: T::IDEMPOTENT,
    }
}

fn parse_args<A: DeserializeOwned>(input_text: &str) -> Result<A, ToolError> {
    let mut json = serde_json::Deserializer::from_str(input_text);
    let args = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let field = error.path().to_string();
        let field = if field == "." { "arguments".to_owned() } else { field };
        ToolError::invalid(&field, error.into_inner())
    })?;
    json.end().map_err(|error| ToolError::invalid("arguments", error))?;
    Ok(args)
}
