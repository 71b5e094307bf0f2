//! Finds and parses the settings file, and reads its models. Other modules check the other sections: `tool_servers`,
//! `review`, `memory`, and `plan`. Each error names the file, the line, and the key, and repeats no value that could be
//! a secret.

use std::{
    collections::{BTreeMap, HashMap},
    io::ErrorKind,
    ops::Range,
    path::{Path, PathBuf},
    str::FromStr as _,
};

use serde::Deserialize;
use tallybook_conversations::models::{FieldError, ModelEntry, Origin, check_name, read_fields, read_prices};
use tallybook_llm::{ApiKey, ModelSettings, ProviderKind, Quirk, SettingNames};
use tallybook_mcp::{OAuthSettings, ToolServerSettings};
use tallybook_protocol::ModelFields;
use toml::Spanned;

use crate::config::{
    cli::{Options, check_wait_hours, set},
    environment::{demo, for_all_models, own_key},
    error::{ConfigError, about, unreadable},
    position::{line_of, span_of},
};

/// Path of the settings file if none is named.
const DEFAULT_FILE: &str = "tallybook.toml";

/// A parsed settings file.
pub(crate) struct SettingsFile {
    pub(crate) path: PathBuf,
    text: String,
    content: Content,
}

/// Content of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    #[serde(default)]
    models: Vec<Spanned<ModelSection>>,
    #[serde(default)]
    tool_servers: ToolServerSections,
    oauth: Option<OAuthSettings>,
    agent: Option<AgentSection>,
    consent: Option<ConsentSection>,
    review: Option<ReviewSection>,
    memory: Option<MemorySection>,
    plan: Option<PlanSection>,
}

/// The `[tool_servers.NAME]` sections by name.
pub(crate) type ToolServerSections = HashMap<Spanned<String>, ToolServerSettings>;

/// The section `[agent]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AgentSection {
    max_tool_turns: Option<Spanned<u32>>,
}

/// The section `[consent]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConsentSection {
    wait_hours: Option<Spanned<f64>>,
}

/// A section `[[models]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelSection {
    name: Spanned<String>,
    provider: Spanned<String>,
    model: Option<Spanned<String>>,
    api_key_env: Option<Spanned<String>>,
    base_url: Option<Spanned<String>>,
    temperature: Option<Spanned<f64>>,
    max_tokens: Option<Spanned<u32>>,
    tool_mode: Option<Spanned<String>>,
    reasoning_effort: Option<Spanned<String>>,
    thinking_tokens: Option<Spanned<u32>>,
    vision: Option<bool>,
    input_price: Option<Spanned<f64>>,
    output_price: Option<Spanned<f64>>,
    context_tokens: Option<Spanned<u32>>,
    quirks: Option<Spanned<BTreeMap<Quirk, bool>>>,
}

/// Reads the file `named`. If no file is named, reads the default file; `None` if that does not exist.
pub(crate) fn find(named: Option<&Path>) -> Result<Option<SettingsFile>, ConfigError> {
    let named = named.filter(|path| !path.as_os_str().is_empty());
    let path = named.unwrap_or(Path::new(DEFAULT_FILE)).to_owned();
    match std::fs::read_to_string(&path) {
        Ok(text) => SettingsFile::parse(path, text).map(Some),
        Err(error) if error.kind() == ErrorKind::NotFound && named.is_none() => Ok(None),
        Err(source) => Err(ConfigError::Unreadable { path, source }),
    }
}

impl SettingsFile {
    fn parse(path: PathBuf, text: String) -> Result<Self, ConfigError> {
        let content: Content = toml::from_str(&text).map_err(|error| {
            // The error's own text quotes the line, which may contain a secret.
            unreadable(&path, &text, &error)
        })?;
        Ok(Self { path, text, content })
    }

    /// Returns the models of the file, the default first.
    pub(crate) fn models(&self, options: &Options) -> Result<Vec<ModelEntry>, ConfigError> {
        let mut lines = HashMap::new();
        let mut entries = Vec::new();
        for (index, section) in self.content.models.iter().enumerate() {
            let section = section.get_ref();
            let place = |field: &str| section.spans().find(|(key, _)| *key == field).map(|(_, span)| span);
            let bad =
                |error: FieldError| self.bad_at(&place(error.field).unwrap_or(section.name.span()), &error.problem);
            let fields = section.fields();
            check_name(&fields.name).map_err(bad)?;
            let line = line_of(&self.text, &section.name.span());
            if let Some(first) = lines.insert(fields.name.clone(), line) {
                let problem = format!(
                    "{:?} is already the name of the model on line {first}. Use a different name.",
                    fields.name
                );
                return Err(self.bad(&section.name, problem));
            }
            let lines = section.spans().map(|(key, span)| (key, line_of(&self.text, &span))).collect();
            let origin = Origin::File { path: self.path.clone(), line, index, lines };
            if fields.provider.eq_ignore_ascii_case("demo") {
                self.check_demo(section)?;
                let prices = read_prices(&fields).map_err(bad)?;
                let vision = fields.vision == Some(true);
                entries.push(ModelEntry { name: fields.name, choice: demo(options), prices, vision, origin });
                continue;
            }
            let provider = ProviderKind::from_str(&fields.provider)
                .map_err(|error| self.bad(&section.provider, error.to_string()))?;
            let common = ModelSettings {
                setting_names: self.setting_names(section, provider),
                ..for_all_models(options, provider)?
            };
            let key = self.key(section, options, provider)?.map(ApiKey::new);
            entries.push(read_fields(&fields, key, &common, origin).map_err(bad)?);
        }
        Ok(entries)
    }

    /// Returns the maximum number of steps of a turn that can call tools, if the file sets it.
    pub(crate) fn max_tool_turns(&self) -> Result<Option<u32>, ConfigError> {
        let Some(steps) = self.content.agent.as_ref().and_then(|agent| agent.max_tool_turns.as_ref()) else {
            return Ok(None);
        };
        let fits = (1..=100).contains(steps.get_ref());
        if fits {
            Ok(Some(*steps.get_ref()))
        } else {
            Err(self.bad(steps, "max_tool_turns must be from 1 to 100.".to_owned()))
        }
    }

    /// Returns `true` if the file mentions an environment variable, for example as the variable that contains an API
    /// key.
    pub(crate) fn mentions(&self, variable: &str) -> bool {
        self.text.contains(variable)
    }

    /// Returns the number of hours that a call waits for approval, if the file sets it. 0 means forever.
    pub(crate) fn consent_wait_hours(&self) -> Result<Option<f64>, ConfigError> {
        let Some(hours) = self.content.consent.as_ref().and_then(|consent| consent.wait_hours.as_ref()) else {
            return Ok(None);
        };
        let checked = check_wait_hours(*hours.get_ref());
        checked.map(Some).map_err(|problem| self.bad(hours, format!("wait_hours {problem}")))
    }

    /// Returns the names of the settings for error messages about this model.
    fn setting_names(&self, section: &ModelSection, provider: ProviderKind) -> SettingNames {
        let place = format!("of {:?} in {}", section.name.get_ref(), self.path.display());
        let own_key = provider.key_variable().filter(|_| section.base_url.is_none()).map(str::to_owned);
        let key = section.api_key_env.as_ref().map(|variable| variable.get_ref().clone()).or(own_key);
        SettingNames {
            api_key: key.unwrap_or_else(|| format!("api_key_env {place}")),
            model: "model".to_owned(),
            base_url: format!("base_url {place}"),
            need_restart: true,
        }
    }

    /// Checks that a demo model has no settings of a provider's model.
    fn check_demo(&self, section: &ModelSection) -> Result<(), ConfigError> {
        let is_for_demo = |key: &str| matches!(key, "name" | "provider" | "input_price" | "output_price");
        match section.spans().find(|(key, _)| !is_for_demo(key)) {
            Some((key, span)) => Err(self.bad_at(&span, &format!("the demo model has no {key}. Remove it."))),
            None => Ok(()),
        }
    }

    /// Returns the API key in the variable that the section names. If it names none, returns the key in the provider's
    /// own variable, unless the model has a URL of its own.
    fn key(
        &self,
        section: &ModelSection,
        options: &Options,
        provider: ProviderKind,
    ) -> Result<Option<String>, ConfigError> {
        let Some(variable) = &section.api_key_env else {
            return Ok(own_key(options, provider).filter(|_| section.base_url.is_none()));
        };
        let name = variable.get_ref();
        // The error never repeats the name: it may be the API key itself, entered in the wrong place.
        if !is_variable(name) {
            let problem =
                "api_key_env must be the name of an environment variable that contains the key, not the key itself.";
            return Err(self.bad(variable, problem));
        }
        let key = set(std::env::var(name).ok());
        let problem = "the environment variable that api_key_env names is not set.";
        key.map(Some).ok_or_else(|| self.bad(variable, problem))
    }

    /// Returns the section `[review]`.
    pub(crate) fn review(&self) -> Option<&ReviewSection> {
        self.content.review.as_ref()
    }

    /// Returns the section `[memory]`.
    pub(crate) fn memory(&self) -> Option<&MemorySection> {
        self.content.memory.as_ref()
    }

    /// Returns the section `[plan]`.
    pub(crate) fn plan(&self) -> Option<&PlanSection> {
        self.content.plan.as_ref()
    }

    /// Returns the model with this name, or an error about the position of `name` in the file if there is none.
    pub(crate) fn model_named<'a>(
        &self,
        name: &Spanned<String>,
        models: &'a [ModelEntry],
    ) -> Result<&'a ModelEntry, ConfigError> {
        models.iter().find(|entry| entry.name == *name.get_ref()).ok_or_else(|| {
            let there: Vec<&str> = models.iter().map(|entry| entry.name.as_str()).collect();
            self.bad(name, format!("no model is named {:?}. Use one of: {}.", name.get_ref(), there.join(", ")))
        })
    }

    /// Returns the sections `[tool_servers.NAME]`.
    pub(crate) fn tool_servers(&self) -> &ToolServerSections {
        &self.content.tool_servers
    }

    /// Returns the section `[oauth]`.
    pub(crate) fn oauth(&self) -> Option<&OAuthSettings> {
        self.content.oauth.as_ref()
    }

    /// Returns the span of a key. `path` is the key's path through its tables; its last element is the key.
    pub(crate) fn span_of(&self, path: &[&str]) -> Option<Range<usize>> {
        span_of(&self.text, path)
    }

    pub(crate) fn bad<T>(&self, place: &Spanned<T>, problem: impl Into<String>) -> ConfigError {
        self.bad_at(&place.span(), &problem.into())
    }

    /// Builds an error about the value at `span`.
    pub(crate) fn bad_at(&self, span: &Range<usize>, problem: &str) -> ConfigError {
        about(&self.path, &self.text, span, problem)
    }
}

impl ModelSection {
    /// Returns the settings without their positions.
    fn fields(&self) -> ModelFields {
        fn value<T: Clone>(spanned: Option<&Spanned<T>>) -> Option<T> {
            spanned.map(|value| value.get_ref().clone())
        }
        let quirks = value(self.quirks.as_ref()).unwrap_or_default();
        ModelFields {
            name: self.name.get_ref().clone(),
            provider: self.provider.get_ref().clone(),
            model: value(self.model.as_ref()),
            base_url: value(self.base_url.as_ref()),
            temperature: value(self.temperature.as_ref()),
            max_tokens: value(self.max_tokens.as_ref()),
            context_tokens: value(self.context_tokens.as_ref()),
            tool_mode: value(self.tool_mode.as_ref()),
            reasoning_effort: value(self.reasoning_effort.as_ref()),
            thinking_tokens: value(self.thinking_tokens.as_ref()),
            vision: self.vision,
            input_price: value(self.input_price.as_ref()),
            output_price: value(self.output_price.as_ref()),
            quirks: quirks.into_iter().map(|(quirk, is_so)| (quirk.as_str().to_owned(), is_so)).collect(),
        }
    }

    /// Returns the keys that are set, with their spans.
    fn spans(&self) -> impl Iterator<Item = (&'static str, Range<usize>)> {
        fn span<T>(spanned: Option<&Spanned<T>>) -> Option<Range<usize>> {
            spanned.map(Spanned::span)
        }
        let spans = [
            ("name", Some(self.name.span())),
            ("provider", Some(self.provider.span())),
            ("model", span(self.model.as_ref())),
            ("api_key_env", span(self.api_key_env.as_ref())),
            ("base_url", span(self.base_url.as_ref())),
            ("temperature", span(self.temperature.as_ref())),
            ("max_tokens", span(self.max_tokens.as_ref())),
            ("context_tokens", span(self.context_tokens.as_ref())),
            ("tool_mode", span(self.tool_mode.as_ref())),
            ("reasoning_effort", span(self.reasoning_effort.as_ref())),
            ("thinking_tokens", span(self.thinking_tokens.as_ref())),
            ("input_price", span(self.input_price.as_ref())),
            ("output_price", span(self.output_price.as_ref())),
            ("quirks", span(self.quirks.as_ref())),
        ];
        spans.into_iter().filter_map(|(key, span)| Some((key, span?)))
    }
}

/// Returns `true` if a text can be the name of an environment variable.
pub(crate) fn is_variable(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The section. Each value has its position in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MemorySection {
    pub(crate) summary_model: Option<Spanned<String>>,
    pub(crate) after_tokens: Option<Spanned<usize>>,
    pub(crate) max_chars: Option<Spanned<usize>>,
}

/// The section. Each value has its position in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlanSection {
    pub(crate) planner_model: Option<Spanned<String>>,
    pub(crate) max_attempts: Option<Spanned<u32>>,
    pub(crate) max_total_attempts: Option<Spanned<u32>>,
}

/// The section. Each value has its position in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReviewSection {
    pub(crate) models: Spanned<Vec<Spanned<String>>>,
    pub(crate) quorum: Option<Spanned<usize>>,
    pub(crate) mode: Option<Spanned<String>>,
    pub(crate) timeout_secs: Option<Spanned<u64>>,
}

#[cfg(test)]
mod tests {
    use super::Content;

    /// Returns the keys of a section, from the error of a key that does not exist.
    fn keys(section: &str) -> Vec<String> {
        let Err(error) = toml::from_str::<Content>(&format!("{section}\nno_such_key = 1")) else {
            panic!("{section} takes any key");
        };
        let (_, expected) = error.message().split_once("expected ").unwrap();
        expected.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    }

    #[test]
    fn the_reference_has_each_key_and_the_example_too() {
        let reference = include_str!("../../../../docs/reference/configuration.md");
        let example = include_str!("../../../../tallybook.example.toml");
        let sections = keys("");
        assert_eq!(sections.len(), 8, "{sections:?}");
        for section in &sections {
            assert!(reference.contains(&format!("[{section}")), "the reference lacks the section {section}");
        }
        for (section, heading) in [
            ("[[models]]", "### `[[models]]`"),
            ("[tool_servers.x]", "### `[tool_servers.NAME]`"),
            ("[oauth]", "### `[oauth]`"),
            ("[agent]", "### `[agent]`"),
            ("[consent]", "### `[consent]`"),
            ("[review]", "### `[review]`"),
            ("[memory]", "### `[memory]`"),
            ("[plan]", "### `[plan]`"),
        ] {
            let text = reference.split(&format!("\n{heading}\n")).nth(1).unwrap().split("\n##").next().unwrap();
            let columns = text.lines().filter_map(|line| line.strip_prefix('|')?.split('|').next());
            let mut described: Vec<&str> = columns.flat_map(|column| column.split('`').skip(1).step_by(2)).collect();
            described.sort_unstable();
            let mut existing = keys(section);
            existing.sort_unstable();
            assert_eq!(described, existing, "the reference has each key of {section} once");
            for key in existing {
                let is_in_example =
                    ["{key} = ", ".{key}]"].iter().any(|form| example.contains(&form.replace("{key}", &key)));
                assert!(is_in_example, "the example lacks {section} {key}");
            }
        }
    }
}
