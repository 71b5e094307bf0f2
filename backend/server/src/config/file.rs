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
use tallybook_conversations::models::{ModelChoice, ModelEntry, Origin};
use tallybook_llm::{ApiKey, ModelSettings, ProviderKind, Quirk, ReasoningEffort, SettingNames, ToolMode};
use tallybook_mcp::{OAuthSettings, ToolServerSettings};
use tallybook_protocol::Prices;
use toml::Spanned;

use crate::config::{
    cli::{Options, check_wait_hours, set},
    environment::{demo, for_all_models, own_key},
    error::{ConfigError, about, unreadable},
    position::{line_of, span_of},
};

/// Path of the settings file if none is named.
const DEFAULT_FILE: &str = "tallybook.toml";

/// Maximum length of a model's name, in characters.
const MAX_NAME_CHARS: usize = 100;

/// Suffix that a name cannot have. API clients append it to a model's name for a direct model call, without the agent's
/// tools.
const RESERVED_ENDING: &str = ":plain";

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
            let name = self.name(&section.name)?;
            let line = line_of(&self.text, &section.name.span());
            if let Some(first) = lines.insert(name.clone(), line) {
                let problem =
                    format!("{name:?} is already the name of the model on line {first}. Use a different name.");
                return Err(self.bad(&section.name, problem));
            }
            let lines = section.spans().map(|(key, span)| (key, line_of(&self.text, &span))).collect();
            let origin = Origin::File { path: self.path.clone(), line, index, lines };
            let choice = self.choice(section, options)?;
            entries.push(ModelEntry {
                name,
                choice,
                prices: self.prices(section)?,
                vision: section.vision == Some(true),
                origin,
            });
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

    fn name(&self, name: &Spanned<String>) -> Result<String, ConfigError> {
        let text = name.get_ref();
        let is_short = (1..=MAX_NAME_CHARS).contains(&text.chars().count());
        if !is_short || text.trim() != text || text.chars().any(char::is_control) {
            let problem = "a model's name must have 1 to 100 characters on one line, without spaces around it.";
            return Err(self.bad(name, problem));
        }
        if text.ends_with(RESERVED_ENDING) {
            let problem =
                "a model's name cannot end with :plain. API clients append this suffix to call a model without tools.";
            return Err(self.bad(name, problem));
        }
        Ok(text.clone())
    }

    fn choice(&self, section: &ModelSection, options: &Options) -> Result<ModelChoice, ConfigError> {
        if section.provider.get_ref().eq_ignore_ascii_case("demo") {
            return self.demo(section, options);
        }
        let provider = ProviderKind::from_str(section.provider.get_ref())
            .map_err(|error| self.bad(&section.provider, error.to_string()))?;
        let common = for_all_models(options, provider)?;
        let tool_mode = section
            .tool_mode
            .as_ref()
            .map(|word| ToolMode::from_str(word.get_ref()).map_err(|error| self.bad(word, error.to_string())));
        let effort = section
            .reasoning_effort
            .as_ref()
            .map(|word| ReasoningEffort::from_str(word.get_ref()).map_err(|error| self.bad(word, error.to_string())));
        let text = |value: &Option<Spanned<String>>| set(value.as_ref().map(|value| value.get_ref().clone()));
        Ok(ModelChoice::Provider(ModelSettings {
            base_url: text(&section.base_url),
            api_key: self.key(section, options, provider)?.map(ApiKey::new),
            model: text(&section.model),
            temperature: section.temperature.as_ref().map(|value| *value.get_ref()).or(common.temperature),
            max_tokens: section.max_tokens.as_ref().map_or(common.max_tokens, |value| *value.get_ref()),
            context_tokens: section.context_tokens.as_ref().map_or(common.context_tokens, |value| *value.get_ref()),
            tool_mode: tool_mode.transpose()?.unwrap_or(common.tool_mode),
            reasoning_effort: effort.transpose()?,
            thinking_tokens: section.thinking_tokens.as_ref().map(|tokens| *tokens.get_ref()),
            quirks: self.quirks(section)?,
            setting_names: self.setting_names(section, provider),
            ..common
        }))
    }

    fn quirks(&self, section: &ModelSection) -> Result<BTreeMap<Quirk, bool>, ConfigError> {
        // A refusal of images is not believed about a model that reads them.
        let of_vision = section.vision.map(|reads_images| (Quirk::NoImages, !reads_images));
        let Some(quirks) = &section.quirks else { return Ok(of_vision.into_iter().collect()) };
        if quirks.get_ref().contains_key(&Quirk::NoImages) {
            let problem = "no_images cannot be set here. Remove it, and use vision: false for true, true for false.";
            return Err(self.bad(quirks, problem));
        }
        if quirks.get_ref().contains_key(&Quirk::NoTools) {
            let problem =
                "no_tools cannot be set here. Remove it, and use tool_mode: prompt for true, native for false.";
            return Err(self.bad(quirks, problem));
        }
        Ok(quirks.get_ref().clone().into_iter().chain(of_vision).collect())
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
        }
    }

    /// Returns the demo model. It has no settings but its name.
    fn demo(&self, section: &ModelSection, options: &Options) -> Result<ModelChoice, ConfigError> {
        match section.spans().next() {
            Some((key, span)) => Err(self.bad_at(&span, &format!("the demo model has no {key}. Remove it."))),
            None => Ok(demo(options)),
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

    fn prices(&self, section: &ModelSection) -> Result<Option<Prices>, ConfigError> {
        let (input, output) = match (&section.input_price, &section.output_price) {
            (Some(input), Some(output)) => (input, output),
            (None, None) => return Ok(None),
            (Some(one), None) | (None, Some(one)) => {
                return Err(self.bad(one, "input_price and output_price must be set together. Set both or neither."));
            }
        };
        for price in [input, output] {
            if !(0.0..=1_000_000.0).contains(price.get_ref()) {
                return Err(self.bad(price, "a price must be a number from 0 to 1000000, per million tokens."));
            }
        }
        Ok(Some(Prices { input: *input.get_ref(), output: *output.get_ref() }))
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
    /// Returns the keys that are set but that the demo model does not support, with their spans.
    fn spans(&self) -> impl Iterator<Item = (&'static str, Range<usize>)> {
        let spans = [
            ("model", self.model.as_ref().map(Spanned::span)),
            ("api_key_env", self.api_key_env.as_ref().map(Spanned::span)),
            ("base_url", self.base_url.as_ref().map(Spanned::span)),
            ("temperature", self.temperature.as_ref().map(Spanned::span)),
            ("max_tokens", self.max_tokens.as_ref().map(Spanned::span)),
            ("context_tokens", self.context_tokens.as_ref().map(Spanned::span)),
            ("tool_mode", self.tool_mode.as_ref().map(Spanned::span)),
            ("reasoning_effort", self.reasoning_effort.as_ref().map(Spanned::span)),
            ("thinking_tokens", self.thinking_tokens.as_ref().map(Spanned::span)),
            ("quirks", self.quirks.as_ref().map(Spanned::span)),
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
    fn the_reference_and_the_example_have_every_key() {
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
            let columns: String = columns.collect();
            for key in keys(section) {
                assert!(columns.contains(&format!("`{key}`")), "the reference lacks {section} {key}");
                let is_in_example =
                    ["{key} = ", ".{key}]"].iter().any(|form| example.contains(&form.replace("{key}", &key)));
                assert!(is_in_example || section == "[agent]", "the example lacks {section} {key}");
            }
        }
    }
}
