//! Checks the settings of a provider's model, from a section of the settings file or from the page.

use std::collections::BTreeMap;

use tallybook_llm::{ApiKey, ModelSettings, ProviderKind, Quirk, ReasoningEffort, ToolMode};
use tallybook_protocol::{ModelFields, Prices};

use super::{ModelChoice, ModelEntry, Origin};

/// Maximum length of a model's name, in characters.
const MAX_NAME_CHARS: usize = 100;

/// Suffix that a name cannot have. API clients append it to a model's name for a direct model call, without the agent's
/// tools.
const RESERVED_ENDING: &str = ":plain";

/// A setting that is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct FieldError {
    /// Name of the setting.
    pub field: &'static str,
    /// The error, as a sentence.
    pub problem: String,
}

/// Creates the entry of a provider's model. Settings that `fields` does not have are taken from `defaults`.
pub fn read_fields(
    fields: &ModelFields,
    api_key: Option<ApiKey>,
    defaults: &ModelSettings,
    origin: Origin,
) -> Result<ModelEntry, FieldError> {
    check_name(&fields.name)?;
    let settings = ModelSettings {
        provider: fields.provider.parse::<ProviderKind>().map_err(|error| bad("provider", error.to_string()))?,
        base_url: text(fields.base_url.as_ref()),
        api_key,
        model: text(fields.model.as_ref()),
        temperature: fields.temperature.or(defaults.temperature),
        max_tokens: fields.max_tokens.unwrap_or(defaults.max_tokens),
        context_tokens: fields.context_tokens.unwrap_or(defaults.context_tokens),
        tool_mode: match &fields.tool_mode {
            Some(word) => word.parse::<ToolMode>().map_err(|error| bad("tool_mode", error.to_string()))?,
            None => defaults.tool_mode,
        },
        reasoning_effort: match &fields.reasoning_effort {
            Some(word) => {
                Some(word.parse::<ReasoningEffort>().map_err(|error| bad("reasoning_effort", error.to_string()))?)
            }
            None => None,
        },
        thinking_tokens: fields.thinking_tokens,
        quirks: quirks(fields)?,
        ..defaults.clone()
    };
    Ok(ModelEntry {
        name: fields.name.clone(),
        choice: ModelChoice::Provider(settings),
        prices: read_prices(fields)?,
        vision: fields.vision == Some(true),
        origin,
    })
}

impl ModelEntry {
    /// Returns the settings of the model, with the defaults that it uses.
    pub fn fields(&self) -> ModelFields {
        let name = self.name.clone();
        let ModelChoice::Provider(settings) = &self.choice else {
            return ModelFields { name, provider: "demo".to_owned(), ..ModelFields::default() };
        };
        let is_own = |quirk: Quirk| !matches!(quirk, Quirk::NoImages | Quirk::NoTools);
        let quirks = settings.quirks.iter().filter(|(quirk, _)| is_own(**quirk));
        ModelFields {
            name,
            provider: settings.provider.as_str().to_owned(),
            model: Some(settings.model_name().to_owned()),
            base_url: settings.base_url.clone(),
            temperature: settings.temperature,
            max_tokens: Some(settings.max_tokens),
            context_tokens: Some(settings.context_tokens),
            tool_mode: Some(settings.tool_mode.as_str().to_owned()),
            reasoning_effort: settings.reasoning_effort.map(|effort| effort.as_str().to_owned()),
            thinking_tokens: settings.thinking_tokens,
            vision: settings.quirks.get(&Quirk::NoImages).map(|refuses| !refuses),
            input_price: self.prices.map(|prices| prices.input),
            output_price: self.prices.map(|prices| prices.output),
            quirks: quirks.map(|(quirk, is_so)| (quirk.as_str().to_owned(), *is_so)).collect(),
        }
    }
}

/// Checks a model's name.
pub fn check_name(name: &str) -> Result<(), FieldError> {
    let is_short = (1..=MAX_NAME_CHARS).contains(&name.chars().count());
    if !is_short || name.trim() != name || name.chars().any(char::is_control) {
        return Err(bad("name", "a model's name must have 1 to 100 characters on one line, without spaces around it."));
    }
    if name.ends_with(RESERVED_ENDING) {
        return Err(bad(
            "name",
            "a model's name cannot end with :plain. API clients append this suffix to call a model without tools.",
        ));
    }
    Ok(())
}

fn text(value: Option<&String>) -> Option<String> {
    value.filter(|value| !value.trim().is_empty()).cloned()
}

fn quirks(fields: &ModelFields) -> Result<BTreeMap<Quirk, bool>, FieldError> {
    let parse = |(name, is_so): (&String, &bool)| {
        let quirk = Quirk::ALL.into_iter().find(|quirk| quirk.as_str() == name);
        let quirk = quirk.ok_or_else(|| {
            let known: Vec<&str> = Quirk::ALL.iter().map(|quirk| quirk.as_str()).collect();
            bad("quirks", format!("{name:?} is not a quirk. Use one of: {}.", known.join(", ")))
        })?;
        match quirk {
            Quirk::NoImages => Err(bad(
                "quirks",
                "no_images cannot be set here. Remove it, and use vision: false for true, true for false.",
            )),
            Quirk::NoTools => Err(bad(
                "quirks",
                "no_tools cannot be set here. Remove it, and use tool_mode: prompt for true, native for false.",
            )),
            quirk => Ok((quirk, *is_so)),
        }
    };
    let set = fields.quirks.iter().map(parse).collect::<Result<BTreeMap<_, _>, _>>()?;
    // A refusal of images is not believed about a model that reads them.
    let of_vision = fields.vision.map(|reads_images| (Quirk::NoImages, !reads_images));
    Ok(set.into_iter().chain(of_vision).collect())
}

/// Returns the prices of a model's tokens, if they are set.
pub fn read_prices(fields: &ModelFields) -> Result<Option<Prices>, FieldError> {
    let (input, output) = match (fields.input_price, fields.output_price) {
        (Some(input), Some(output)) => (input, output),
        (None, None) => return Ok(None),
        (one, _) => {
            let field = if one.is_some() { "input_price" } else { "output_price" };
            return Err(bad(field, "input_price and output_price must be set together. Set both or neither."));
        }
    };
    for (field, price) in [("input_price", input), ("output_price", output)] {
        if !(0.0..=1_000_000.0).contains(&price) {
            return Err(bad(field, "a price must be a number from 0 to 1000000, per million tokens."));
        }
    }
    Ok(Some(Prices { input, output }))
}

fn bad(field: &'static str, problem: impl Into<String>) -> FieldError {
    FieldError { field, problem: problem.into() }
}
