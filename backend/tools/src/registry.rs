//! Which tools there are, and calling one by name with the text that a model wrote.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::ready,
    sync::Arc,
};

use futures_util::{FutureExt as _, future::BoxFuture};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{
    ProgressSender, Risk, Slot, Tool, ToolError, ToolOutput, ToolSpec, Whose,
    limits::MAX_INPUT_BYTES,
    notation::{shortened, shortened_to},
    secrets::{HIDDEN, marks_secrets},
};

/// Tools that are known without being on offer.
const MAX_ABSENT: usize = 1000;
/// The longest reason given for refusing arguments; serde quotes what it found.
const MAX_REASON_CHARS: usize = 300;

/// The kind of failure of a call that holds a mark in place of a secret.
const SECRET_NOT_KEPT: &str = "secret_not_kept";

/// A tool could not be registered; a mistake in the program, found at start.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// The name is not 1 to 64 of `a-z A-Z 0-9 _ -`, or holds a `__`, which only names of servers' tools do.
    #[error("{0:?} is not a tool name: use 1 to 64 letters, digits, '_' or '-', and no '__'")]
    BadName(String),
    /// Two tools share a name.
    #[error("there are two tools named {0:?}")]
    Duplicate(String),
}

/// The tools on offer, by name.
#[derive(Clone, Default)]
pub struct ToolRegistry {
    tools: BTreeMap<String, Arc<dyn AnyTool>>,
    /// Names of tools that were taken out, so that who asks for one learns why it is not there.
    turned_off: BTreeSet<String>,
    /// Tools that are not on offer, as far as they are known, by their names: a model that calls one all the same, as it did
    /// before, writes the same secrets.
    absent: BTreeMap<String, Arc<Value>>,
}

/// Whether a text can be the name of a tool: 1 to 64 of `a-z A-Z 0-9 _ -`, which every provider takes.
pub fn is_tool_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

/// The server in the name of a server's tool, which is `<server>__<tool>`; none in the name of a built-in one.
pub fn server_in(name: &str) -> Option<&str> {
    // A server has at least one character, which may itself have become a `_`.
    let at = 1 + name.get(1..)?.find("__")?;
    name.get(..at)
}

impl ToolRegistry {
    /// The registry with one more tool in it.
    pub fn with<T: Tool>(mut self, tool: T) -> Result<Self, RegistryError> {
        if T::NAME.contains("__") {
            return Err(RegistryError::BadName(T::NAME.to_owned()));
        }
        self.add(Arc::new(Entry { spec: spec_of::<T>(), tool }))?;
        Ok(self)
    }

    /// Adds a tool that is known only since the program runs. On an error nothing has changed.
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

    /// The registry without the tools of these names. A call of one of them fails and says why.
    #[must_use]
    pub fn without(&self, names: BTreeSet<String>) -> Self {
        let (off, tools) = self.tools.clone().into_iter().partition(|(name, _)| names.contains(name));
        let off: BTreeMap<String, Arc<dyn AnyTool>> = off;
        let mut without = Self { tools, turned_off: names, absent: self.absent.clone() };
        for tool in off.into_values() {
            without.know(&tool.spec().name, &tool.spec().input_schema);
        }
        without
    }

    /// Has the schema of a tool be known that is not on offer, where that marks secrets; so many of them.
    pub fn know(&mut self, name: &str, schema: &Value) {
        let is_new = !self.tools.contains_key(name) && !self.absent.contains_key(name);
        if is_new && self.absent.len() < MAX_ABSENT && marks_secrets(schema) {
            self.absent.insert(name.to_owned(), Arc::new(schema.clone()));
        }
    }

    /// Has what `before` offered or knew be known, as far as it is not on offer now.
    pub fn know_all_of(&mut self, before: &Self) {
        for tool in before.tools.values() {
            self.know(&tool.spec().name, &tool.spec().input_schema);
        }
        for (name, schema) in &before.absent {
            self.know(name, schema);
        }
    }

    /// The schemas of tools that are not on offer, which mark secrets.
    pub fn absent_schemas(&self) -> impl Iterator<Item = (&str, &Arc<Value>)> {
        self.absent.iter().map(|(name, schema)| (name.as_str(), schema))
    }

    /// What models are told, in the order of names.
    pub fn specs(&self) -> Arc<[ToolSpec]> {
        self.tools.values().map(|tool| tool.spec().clone()).collect()
    }

    /// What a model is told of one tool.
    pub fn find_spec(&self, name: &str) -> Option<&ToolSpec> {
        self.tools.get(name).map(|tool| tool.spec())
    }

    /// Returns the risk of a call with arguments as a model wrote them; `None` if the tool is unknown.
    pub fn risk_of(&self, name: &str, input_text: &str) -> Option<Risk> {
        self.tools.get(name).map(|tool| tool.risk_of(input_text))
    }

    /// Calls a tool with arguments as a model wrote them. Fails with `unknown_tool`, `tool_disabled`,
    /// `secret_not_kept` or `invalid_argument` before any of the tool's code runs, otherwise with what the tool says. Sets no
    /// timeout and catches no panic: the agent does.
    pub fn call(&self, name: &str, input_text: &str) -> BegunCall {
        let waiting = self.begin(name, input_text, Whose::default(), ProgressSender::to_nobody());
        Box::pin(async move { waiting.await.await })
    }

    /// [`Self::call`] in two parts: the first waits until the tool has room for a call of this person's and does nothing else,
    /// so that what gives the second one its time need not count that. The tool may say how far it is.
    pub fn begin(
        &self,
        name: &str,
        input_text: &str,
        whose: Whose,
        progress: ProgressSender,
    ) -> BoxFuture<'static, BegunCall> {
        let (tool, input_text) = match self.find_callable(name, input_text) {
            Ok(tool) => (tool, input_text.to_owned()),
            Err(error) => return Box::pin(ready(Box::pin(ready(Err(error))) as BegunCall)),
        };
        let room = Arc::clone(&tool).room(whose);
        let begun = room.map(|room| -> BegunCall {
            Box::pin(async move {
                let _room = room?;
                tool.call(input_text, progress).await
            })
        });
        begun.boxed()
    }

    /// Checks arguments as [`Self::call`] does before it runs the tool's own code, without calling it. For a tool that is missing at
    /// the moment, checks what every tool demands.
    pub fn check(&self, name: &str, input_text: &str) -> Result<(), ToolError> {
        match self.find_callable(name, input_text) {
            Ok(tool) => tool.check(input_text),
            Err(error) if error.error_type == SECRET_NOT_KEPT => Err(error),
            Err(_) => check_object(input_text),
        }
    }

    /// The tool of a call that may be made.
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
        if input_text.contains(HIDDEN) {
            let message = format!(
                "where it says {HIDDEN} a secret stood, which is not kept and given to no tool from here; call the tool with \
                 all of its arguments, or do without"
            );
            return Err(ToolError::other(SECRET_NOT_KEPT, message));
        }
        Ok(tool)
    }
}

/// A call for which its tool has room.
pub type BegunCall = BoxFuture<'static, Result<ToolOutput, ToolError>>;

impl std::fmt::Debug for ToolRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.tools.keys()).finish()
    }
}

/// A tool as a registry holds it: its argument type is forgotten, or known to a tool server alone. What is known when
/// the program is written implements [`Tool`] instead.
pub trait AnyTool: Send + Sync {
    /// What a model is told of it.
    fn spec(&self) -> &ToolSpec;

    /// Returns the risk of a call with arguments as a model wrote them.
    fn risk_of(&self, _input_text: &str) -> Risk {
        self.spec().risk
    }

    /// Checks arguments as [`Self::call`] does before anything runs.
    fn check(&self, input_text: &str) -> Result<(), ToolError> {
        check_object(input_text)
    }

    /// Waits until there is room for a call of this person's, where few are made at once. What it gives is kept until the call
    /// has ended.
    fn room(self: Arc<Self>, _: Whose) -> BoxFuture<'static, Result<Option<Slot>, ToolError>> {
        Box::pin(ready(Ok(None)))
    }

    /// Does the work with arguments as a model wrote them; see [`ToolRegistry::call`]. Dropping the future cancels it.
    fn call(self: Arc<Self>, input_text: String, progress: ProgressSender) -> BegunCall;
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

    fn call(self: Arc<Self>, input_text: String, _: ProgressSender) -> BegunCall {
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
        // The name and the doc comment of `Args` itself speak to readers of the code.
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

/// Checks that arguments are an object that can be read, which is all that a tool server demands.
fn check_object(input_text: &str) -> Result<(), ToolError> {
    parse_args::<serde_json::Map<String, Value>>(input_text).map(|_| ())
}

fn parse_args<A: DeserializeOwned>(input_text: &str) -> Result<A, ToolError> {
    if input_text.len() > MAX_INPUT_BYTES {
        return Err(ToolError::invalid("arguments", format_args!("longer than {MAX_INPUT_BYTES} bytes")));
    }
    // serde would also take the fields of a struct from a list, in their order.
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

/// Names the field that is to blame and says why in serde's words, without the position in the text unless the text is
/// not JSON at all.
fn blame(path: &str, error: &serde_json::Error) -> ToolError {
    let mut reason = error.to_string();
    if error.is_data() {
        let position = format!(" at line {} column {}", error.line(), error.column());
        reason.truncate(reason.strip_suffix(&position).unwrap_or(&reason).len());
    } else {
        return ToolError::invalid("arguments", format_args!("not valid JSON: {reason}"));
    }
    // serde reports these three at the object, and names the field only in words.
    let named = ["missing field `", "duplicate field `", "unknown field `"]
        .iter()
        .find_map(|start| reason.strip_prefix(start)?.split('`').next());
    let field = match (named, path) {
        (Some(field), "." | "?") => field,
        (Some(field), path) if path.ends_with(field) => path,
        (_, "." | "?") => "arguments",
        (_, path) => path,
    };
    ToolError::invalid(&shortened(field), shortened_to(&reason, MAX_REASON_CHARS))
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

    /// A name that depends on the type, since names are constants.
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
    fn the_name_of_a_servers_tool_tells_its_server() {
        let names = ["docs__search", "a_b__c__d", "____x", "add", "__x", "convert_units"];
        let servers = [Some("docs"), Some("a_b"), Some("_"), None, None, None];
        assert_eq!(names.map(super::server_in), servers);
    }

    #[tokio::test]
    async fn a_tool_that_is_turned_off_is_not_told_of_and_says_so() {
        let registry = ToolRegistry::default().with(Named::<4>).unwrap();
        let without = registry.without(["Good_name-4".to_owned()].into());
        assert!(without.specs().is_empty() && registry.specs().len() == 1);
        let error = without.call("Good_name-4", "{}").await.unwrap_err();
        assert_eq!(error.error_type, "tool_disabled");
        assert_eq!(without.call("other", "{}").await.unwrap_err().error_type, "unknown_tool");
    }

    #[test]
    fn what_marks_secrets_is_known_of_tools_that_are_not_on_offer() {
        let known =
            |registry: &ToolRegistry| registry.absent_schemas().map(|(name, _)| name.to_owned()).collect::<Vec<_>>();
        let secret = serde_json::json!({ "properties": { "pin": { "writeOnly": true } } });
        let mut before = ToolRegistry::default().with(Named::<4>).unwrap();
        before.know("login", &secret);
        before.know("plain", &serde_json::json!({}));
        before.know("Good_name-4", &secret);
        assert_eq!(known(&before), ["login"], "a tool on offer says itself what it takes");
        let mut now = ToolRegistry::default();
        now.know_all_of(&before.without(["login".to_owned()].into()));
        assert_eq!(known(&now), ["login"]);
        for number in 0..2 * super::MAX_ABSENT {
            now.know(&format!("tool{number}"), &secret);
        }
        assert_eq!(known(&now).len(), super::MAX_ABSENT);
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
