//! The registry of tools: looks tools up by name, and calls them with arguments as a model wrote them.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::ready,
    sync::Arc,
};

use futures_util::{FutureExt as _, future::BoxFuture};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tallybook_protocol::with_ellipsis;

use super::{
    ProgressSender, Risk, Slot, Tool, ToolError, ToolOutput, ToolSpec, UserKey,
    limits::MAX_INPUT_BYTES,
    notation::shortened,
    secrets::{REDACTED, marks_secrets},
};

/// Maximum number of unavailable tools whose schemas are kept.
const MAX_UNAVAILABLE_SCHEMAS: usize = 1000;
/// Maximum length of the reason for refusing arguments, in characters. serde's messages quote the arguments.
const MAX_REASON_CHARS: usize = 300;

/// `error_type` of a call whose arguments contain [`REDACTED`] instead of a secret.
const SECRET_NOT_KEPT: &str = "secret_not_kept";

/// Error of adding a tool to the registry. For a built-in tool it is a programming error, found at start.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// The name is not 1 to 64 of `a-z A-Z 0-9 _ -`. Or a built-in tool's name contains `__`, which is reserved for the
    /// tools of tool servers.
    #[error("{0:?} is not a tool name: use 1 to 64 letters, digits, '_' or '-', and no '__'")]
    BadName(String),
    /// Two tools share a name.
    #[error("there are two tools named {0:?}")]
    Duplicate(String),
}

/// The available tools, by name.
#[derive(Clone, Default)]
pub struct ToolRegistry {
    tools: BTreeMap<String, Arc<dyn AnyTool>>,
    /// Names of tools that are turned off, so that a call of one fails with the reason.
    turned_off: BTreeSet<String>,
    /// Schemas of known tools that are not available but mark secret arguments, by tool name. A model that called such
    /// a tool before may still call it with the same secrets, which must be redacted.
    unavailable_schemas: BTreeMap<String, Arc<Value>>,
}

/// Returns `true` if a text is a valid tool name: 1 to 64 of `a-z A-Z 0-9 _ -`, which every provider accepts.
pub fn is_tool_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

/// Returns the server in the name of a tool server's tool, which is `<server>__<tool>`. Returns `None` for a built-in
/// tool.
pub fn server_in(name: &str) -> Option<&str> {
    // A server's name has at least one character, which may be a `_` that replaced another character.
    let at = 1 + name.get(1..)?.find("__")?;
    name.get(..at)
}

impl ToolRegistry {
    /// Adds a built-in tool. Fails if the name is invalid, contains `__`, or is taken.
    pub fn with<T: Tool>(mut self, tool: T) -> Result<Self, RegistryError> {
        if T::NAME.contains("__") {
            return Err(RegistryError::BadName(T::NAME.to_owned()));
        }
        self.add(Arc::new(Entry { spec: spec_of::<T>(), tool }))?;
        Ok(self)
    }

    /// Adds a tool that became known at run time. Fails, and changes nothing, if the name is invalid or taken.
    pub fn add(&mut self, tool: Arc<dyn AnyTool>) -> Result<(), RegistryError> {
        let name = tool.spec().name.clone();
        if !is_tool_name(&name) {
            return Err(RegistryError::BadName(name));
        }
        if self.tools.contains_key(&name) {
            return Err(RegistryError::Duplicate(name));
        }
        self.tools.insert(name, tool);
        Ok(())
    }

    /// Returns a copy without the tools of these names. A call of one of them fails with `tool_disabled`.
    #[must_use]
    pub fn without(&self, names: BTreeSet<String>) -> Self {
        let without = self.only(|tool| !names.contains(&tool.name));
        Self { turned_off: names, ..without }
    }

    /// Returns a copy with only the tools for which `is_kept` returns `true`. A call of another one fails with
    /// `unknown_tool`.
    #[must_use]
    pub fn only(&self, is_kept: impl Fn(&ToolSpec) -> bool) -> Self {
        let (kept, removed) = self.tools.clone().into_iter().partition(|(_, tool)| is_kept(tool.spec()));
        let removed: BTreeMap<String, Arc<dyn AnyTool>> = removed;
        let mut only = Self {
            tools: kept,
            turned_off: self.turned_off.clone(),
            unavailable_schemas: self.unavailable_schemas.clone(),
        };
        for tool in removed.into_values() {
            only.remember_schema(&tool.spec().name, &tool.spec().input_schema);
        }
        only
    }

    /// Keeps the schema of an unavailable tool, if it marks secrets. At most `MAX_UNAVAILABLE_SCHEMAS` schemas are
    /// kept.
    pub fn remember_schema(&mut self, name: &str, schema: &Value) {
        let is_new = !self.tools.contains_key(name) && !self.unavailable_schemas.contains_key(name);
        if is_new && self.unavailable_schemas.len() < MAX_UNAVAILABLE_SCHEMAS && marks_secrets(schema) {
            self.unavailable_schemas.insert(name.to_owned(), Arc::new(schema.clone()));
        }
    }

    /// Keeps the schemas of all tools that `before` contained or kept and that are not available now, as
    /// [`Self::remember_schema`] does.
    pub fn inherit_schemas(&mut self, before: &Self) {
        for tool in before.tools.values() {
            self.remember_schema(&tool.spec().name, &tool.spec().input_schema);
        }
        for (name, schema) in &before.unavailable_schemas {
            self.remember_schema(name, schema);
        }
    }

    /// Returns the names and schemas of unavailable tools that mark secrets.
    pub fn unavailable_schemas(&self) -> impl Iterator<Item = (&str, &Arc<Value>)> {
        self.unavailable_schemas.iter().map(|(name, schema)| (name.as_str(), schema))
    }

    /// Returns the definitions of the available tools, sorted by name.
    pub fn specs(&self) -> Arc<[ToolSpec]> {
        self.tools.values().map(|tool| tool.spec().clone()).collect()
    }

    /// Returns the definition of a tool, or `None` if it is not available.
    pub fn find_spec(&self, name: &str) -> Option<&ToolSpec> {
        self.tools.get(name).map(|tool| tool.spec())
    }

    /// Returns the risk of a call with arguments as a model wrote them; `None` if the tool is unknown.
    pub fn risk_of(&self, name: &str, input_text: &str) -> Option<Risk> {
        self.tools.get(name).map(|tool| tool.risk_of(input_text))
    }

    /// Calls a tool with arguments as a model wrote them. Fails with `unknown_tool`, `tool_disabled`, `secret_not_kept`
    /// or `invalid_argument` before any of the tool's code runs, otherwise with the tool's own error. Sets no timeout
    /// and catches no panic: the agent does.
    pub fn call(&self, name: &str, input_text: &str) -> AdmittedCall {
        let waiting = self.begin(name, input_text, UserKey::default(), ProgressSender::noop());
        Box::pin(async move { waiting.await.await })
    }

    /// Starts a call in two parts, so that the caller can exclude the wait for a slot from the call's timeout. The
    /// first future only waits until the tool has a slot for this user. The second one runs the call, like
    /// [`Self::call`]. The tool may report progress.
    pub fn begin(
        &self,
        name: &str,
        input_text: &str,
        user_key: UserKey,
        progress: ProgressSender,
    ) -> BoxFuture<'static, AdmittedCall> {
        let (tool, input_text) = match self.find_callable(name, input_text) {
            Ok(tool) => (tool, input_text.to_owned()),
            Err(error) => return Box::pin(ready(Box::pin(ready(Err(error))) as AdmittedCall)),
        };
        let admission = Arc::clone(&tool).acquire_slot(user_key);
        let admitted = admission.map(|slot| -> AdmittedCall {
            Box::pin(async move {
                let _slot = slot?;
                tool.call(input_text, progress).await
            })
        });
        admitted.boxed()
    }

    /// Checks arguments as [`Self::call`] does, without running the tool. For a tool that is currently unavailable,
    /// checks only what applies to every tool.
    pub fn check(&self, name: &str, input_text: &str) -> Result<(), ToolError> {
        match self.find_callable(name, input_text) {
            Ok(tool) => tool.check(input_text),
            Err(error) if error.error_type == SECRET_NOT_KEPT => Err(error),
            Err(_) => check_object(input_text),
        }
    }

    /// Returns the tool of a call. Fails with `tool_disabled`, `unknown_tool` or `secret_not_kept` if the call must not
    /// run.
    fn find_callable(&self, name: &str, input_text: &str) -> Result<Arc<dyn AnyTool>, ToolError> {
        if self.turned_off.contains(name) {
            let message = format!("the tool {name:?} is turned off in this conversation; answer without it");
            return Err(ToolError::other("tool_disabled", message));
        }
        let Some(tool) = self.tools.get(name).cloned() else {
            let known = self.tools.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            let message = format!("there is no tool {:?}; there are: {known}", shortened(name));
            return Err(ToolError::other("unknown_tool", message));
        };
        if input_text.contains(REDACTED) {
            let message = format!(
                "the arguments contain {REDACTED} in place of a secret; secrets are not stored, so no tool can receive \
                 them from here; call the tool with all of its arguments, or answer without it"
            );
            return Err(ToolError::other(SECRET_NOT_KEPT, message));
        }
        Ok(tool)
    }
}

/// The future of a call that has its slot.
pub type AdmittedCall = BoxFuture<'static, Result<ToolOutput, ToolError>>;

impl std::fmt::Debug for ToolRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.tools.keys()).finish()
    }
}

/// A tool as the registry stores it, without its argument type. Implement [`Tool`] for built-in tools. Tools whose
/// arguments only a tool server knows implement this trait directly.
pub trait AnyTool: Send + Sync {
    /// Returns the definition of the tool.
    fn spec(&self) -> &ToolSpec;

    /// Returns the risk of a call with arguments as a model wrote them.
    fn risk_of(&self, _input_text: &str) -> Risk {
        self.spec().risk
    }

    /// Checks arguments as [`Self::call`] does before anything runs.
    fn check(&self, input_text: &str) -> Result<(), ToolError> {
        check_object(input_text)
    }

    /// Waits for a slot for a call of this user, if the tool limits concurrent calls. The caller holds the slot until
    /// the call ends.
    fn acquire_slot(self: Arc<Self>, _: UserKey) -> BoxFuture<'static, Result<Option<Slot>, ToolError>> {
        Box::pin(ready(Ok(None)))
    }

    /// Runs a call with arguments as a model wrote them; see [`ToolRegistry::call`]. Dropping the future cancels the
    /// call.
    fn call(self: Arc<Self>, input_text: String, progress: ProgressSender) -> AdmittedCall;
}

struct Entry<T> {
    spec: ToolSpec,
    tool: T,
}

impl<T: Tool> AnyTool for Entry<T> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn risk_of(&self, input_text: &str) -> Risk {
        if self.spec.risk == Risk::Low {
            return Risk::Low;
        }
        parse_args(input_text).map_or(self.spec.risk, |args| self.tool.risk_of(&args))
    }

    fn check(&self, input_text: &str) -> Result<(), ToolError> {
        parse_args::<T::Args>(input_text).map(|_| ())
    }

    fn call(self: Arc<Self>, input_text: String, _: ProgressSender) -> AdmittedCall {
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
        // The name and the doc comment of `Args` are for readers of the code, not for models.
        object.remove("title");
        object.remove("description");
    }
    ToolSpec {
        name: T::NAME.to_owned(),
        description: T::DESCRIPTION.to_owned(),
        aliases: T::ALIASES.iter().map(|&alias| alias.to_owned()).collect(),
        input_schema,
        server: None,
        risk: T::RISK,
        idempotent: T::IDEMPOTENT,
        definition_hash: None,
    }
}

/// Checks that arguments are a JSON object of at most [`MAX_INPUT_BYTES`]. Tools of tool servers require no more than
/// that here.
fn check_object(input_text: &str) -> Result<(), ToolError> {
    parse_args::<serde_json::Map<String, Value>>(input_text).map(|_| ())
}

fn parse_args<A: DeserializeOwned>(input_text: &str) -> Result<A, ToolError> {
    if input_text.len() > MAX_INPUT_BYTES {
        return Err(ToolError::invalid("arguments", format_args!("longer than {MAX_INPUT_BYTES} bytes")));
    }
    // serde would also accept a list with the fields of a struct in their order.
    if !input_text.trim_start().starts_with('{') {
        let reason = format!("expected a JSON object, found {:?}", shortened(input_text));
        return Err(ToolError::invalid("arguments", reason));
    }
    let mut json = serde_json::Deserializer::from_str(input_text);
    let args = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        let error = error.into_inner();
        blame(&path, &error)
    })?;
    json.end().map_err(|error| ToolError::invalid("arguments", error))?;
    Ok(args)
}

/// Creates the error for invalid arguments from serde's error. It names the invalid field. The position in the text is
/// included only if the text is not valid JSON.
fn blame(path: &str, error: &serde_json::Error) -> ToolError {
    let mut reason = error.to_string();
    if error.is_data() {
        let position = format!(" at line {} column {}", error.line(), error.column());
        reason.truncate(reason.strip_suffix(&position).unwrap_or(&reason).len());
    } else {
        return ToolError::invalid("arguments", format_args!("not valid JSON: {reason}"));
    }
    // For these three errors, serde's path ends at the object, and only the message names the field.
    let named = ["missing field `", "duplicate field `", "unknown field `"]
        .iter()
        .find_map(|start| reason.strip_prefix(start)?.split('`').next());
    let field = match (named, path) {
        (Some(field), "." | "?") => field,
        (Some(field), path) if path.ends_with(field) => path,
        (_, "." | "?") => "arguments",
        (_, path) => path,
    };
    ToolError::invalid(&shortened(field), with_ellipsis(&reason, MAX_REASON_CHARS))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize, schemars::JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Args {
        city: City,
    }

    #[derive(Deserialize, schemars::JsonSchema)]
    struct City {
        #[expect(dead_code, reason = "only its type matters")]
        inhabitants: u32,
    }

    struct Named<const N: usize>;

    /// Returns a tool name by number. The name depends on the type, since names are constants.
    const fn name(n: usize) -> &'static str {
        match n {
            0 => "",
            1 => "has space",
            2 => "名前",
            3 => "sixty-five_characters_long_sixty-five_characters_long_sixty-five_",
            5 => "server__tool",
            _ => "Good_name-4",
        }
    }

    impl<const N: usize> Tool for Named<N> {
        type Args = Args;
        const NAME: &'static str = name(N);
        const DESCRIPTION: &'static str = "For tests.";

        async fn call(&self, args: Args) -> Result<ToolOutput, ToolError> {
            let _ = args.city;
            Ok(ToolOutput::text("called"))
        }
    }

    async fn call(input_text: &str) -> Result<String, String> {
        let registry = ToolRegistry::default().with(Named::<4>).unwrap();
        registry.call("Good_name-4", input_text).await.map(|output| output.text).map_err(|error| error.message)
    }

    #[test]
    fn bad_names_are_refused() {
        fn refused<const N: usize>() -> bool {
            matches!(ToolRegistry::default().with(Named::<N>), Err(RegistryError::BadName(name)) if name == self::name(N))
        }
        assert!(refused::<0>() && refused::<1>() && refused::<2>() && refused::<3>() && refused::<5>());
        assert!(!refused::<4>());
    }

    #[test]
    fn two_tools_of_one_name_are_refused() {
        let result = ToolRegistry::default().with(Named::<4>).unwrap().with(Named::<4>);
        assert_eq!(result.unwrap_err().to_string(), r#"there are two tools named "Good_name-4""#);
    }

    #[test]
    fn a_tool_name_contains_its_server() {
        let names = ["docs__search", "a_b__c__d", "____x", "add", "__x", "convert_units"];
        let servers = [Some("docs"), Some("a_b"), Some("_"), None, None, None];
        assert_eq!(names.map(super::server_in), servers);
    }

    #[tokio::test]
    async fn a_disabled_tool_is_not_offered_and_refuses_calls() {
        let registry = ToolRegistry::default().with(Named::<4>).unwrap();
        let without = registry.without(["Good_name-4".to_owned()].into());
        assert!(without.specs().is_empty() && registry.specs().len() == 1);
        let error = without.call("Good_name-4", "{}").await.unwrap_err();
        assert_eq!(error.error_type, "tool_disabled");
        assert_eq!(without.call("other", "{}").await.unwrap_err().error_type, "unknown_tool");
    }

    #[test]
    fn schemas_that_mark_secrets_are_kept_for_unavailable_tools() {
        let known = |registry: &ToolRegistry| {
            registry.unavailable_schemas().map(|(name, _)| name.to_owned()).collect::<Vec<_>>()
        };
        let secret = serde_json::json!({ "properties": { "pin": { "writeOnly": true } } });
        let mut before = ToolRegistry::default().with(Named::<4>).unwrap();
        before.remember_schema("login", &secret);
        before.remember_schema("plain", &serde_json::json!({}));
        before.remember_schema("Good_name-4", &secret);
        assert_eq!(known(&before), ["login"], "a tool on offer says itself what it takes");
        let mut now = ToolRegistry::default();
        now.inherit_schemas(&before.without(["login".to_owned()].into()));
        assert_eq!(known(&now), ["login"]);
        for number in 0..2 * super::MAX_UNAVAILABLE_SCHEMAS {
            now.remember_schema(&format!("tool{number}"), &secret);
        }
        assert_eq!(known(&now).len(), super::MAX_UNAVAILABLE_SCHEMAS);
    }

    #[tokio::test]
    async fn an_unknown_tool_is_an_error_that_lists_the_known_ones() {
        let registry = ToolRegistry::default().with(Named::<4>).unwrap();
        let error = registry.call("bad_name", "{}").await.unwrap_err();
        assert_eq!(error.error_type, "unknown_tool");
        assert_eq!(error.message, r#"there is no tool "bad_name"; there are: Good_name-4"#);
        let error = registry.call(&"x".repeat(100_000), "{}").await.unwrap_err();
        assert!(error.message.len() < 200);
    }

    #[tokio::test]
    async fn bad_arguments_name_the_field_to_blame() {
        let cases = [
            (r"{}", "invalid_city: missing field `city`"),
            (r#"{"city":{}}"#, "invalid_city: missing field `inhabitants`"),
            (r#"{"city":{"inhabitants":-1}}"#, "invalid_city.inhabitants: invalid value: integer `-1`, expected u32"),
            (r#"{"city":{"inhabitants":1},"city":{"inhabitants":1}}"#, "invalid_city: duplicate field `city`"),
            (r#"{"town":1}"#, "invalid_town: unknown field `town`, expected `city`"),
            (r#"{"city":"#, "invalid_arguments: not valid JSON: EOF while parsing a value at line 1 column 8"),
            (r#"[{"inhabitants":1}]"#, r#"invalid_arguments: expected a JSON object, found "[{\"inhabitants\":1}]""#),
            (r"", r#"invalid_arguments: expected a JSON object, found """#),
            (r#"{"city":{"inhabitants":1}} and more"#, "invalid_arguments: trailing characters at line 1 column 28"),
        ];
        for (input, expected) in cases {
            assert_eq!(call(input).await.unwrap_err(), expected, "{input}");
        }
        assert_eq!(call(r#" {"city":{"inhabitants":1}} "#).await.unwrap(), "called");
    }

    #[tokio::test]
    async fn hostile_arguments_give_short_errors() {
        let long = "x".repeat(500_000);
        let deep = format!(r#"{{"city":{}"#, "[".repeat(500_000));
        for input in [format!(r#"{{"{long}":1}}"#), format!(r#"{{"city":"{long}"}}"#), deep, "{".repeat(2_000_000)] {
            let message = call(&input).await.unwrap_err();
            assert!(message.len() < 2_000, "{} bytes", message.len());
        }
    }
}
