//! Every setting, its default and its environment variable, checked once at the start. A bad value is a sentence that
//! names the setting.

use std::{fmt::Display, net::IpAddr, path::PathBuf, str::FromStr, sync::Arc, time::Duration};

use clap::{
    Arg, ArgAction, CommandFactory as _, FromArgMatches as _, Parser,
    builder::{BoolishValueParser, TypedValueParser},
};
use secrecy::{ExposeSecret, SecretString};
use tallybook_agent::{Limits, SystemPrompt};
use tallybook_llm::{ApiKey, ModelSettings, ProviderKind, RetryPolicy, ToolMode};

use crate::{
    db::{DatabaseUrl, DbError},
    http::{self, HostName},
    models::ModelChoice,
};

const SECS_PER_DAY: u64 = 24 * 60 * 60;

/// A self-hosted chat whose assistant works with tools, and keeps the book on every call.
///
/// Every option can also be given as the environment variable shown beside it. An empty variable counts as unset.
#[derive(Clone, Debug, Parser)]
#[command(name = "tallybook", version, about)]
#[expect(clippy::doc_markdown, reason = "these comments are what --help prints, where backticks would be in the way")]
struct Options {
    /// The address to listen on; 0.0.0.0 listens on all.
    #[arg(long, env = "HOST", default_value = "127.0.0.1")]
    host: IpAddr,
    /// The port to listen on; 0 takes a free one.
    #[arg(long, env = "PORT", default_value_t = 3000)]
    port: u16,
    /// Names by which the server may be asked, besides those of this machine, separated by commas [default: any, but none
    /// on a loopback address].
    #[arg(long, env = "ALLOWED_HOSTS", value_delimiter = ',')]
    allowed_hosts: Vec<String>,
    /// Where the data lies: sqlite://FILE or mysql://USER:PASSWORD@HOST/DATABASE.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, default_value = "sqlite://data/tallybook.db")]
    database_url: SecretString,
    /// The model's provider: anthropic, openai, openrouter, ollama or demo [default: by the key that is set, else demo].
    #[arg(long, env = "LLM_PROVIDER", hide_env_values = true)]
    llm_provider: Option<String>,
    /// The provider's key.
    #[arg(long, env = "LLM_API_KEY", hide_env_values = true)]
    llm_api_key: Option<String>,
    /// Anthropic's key; chooses that provider when none is named.
    #[arg(long, env = "ANTHROPIC_API_KEY", hide_env_values = true)]
    anthropic_api_key: Option<String>,
    /// OpenAI's key; chooses that provider when none is named.
    #[arg(long, env = "OPENAI_API_KEY", hide_env_values = true)]
    openai_api_key: Option<String>,
    /// OpenRouter's key; chooses that provider when none is named.
    #[arg(long, env = "OPENROUTER_API_KEY", hide_env_values = true)]
    openrouter_api_key: Option<String>,
    /// The model [default: a mid-size one of the provider's].
    #[arg(long, env = "LLM_MODEL", hide_env_values = true)]
    llm_model: Option<String>,
    /// Another name for LLM_MODEL.
    #[arg(long, env = "LLM_MODEL_NAME", hide_env_values = true)]
    llm_model_name: Option<String>,
    /// The address of the provider's API [default: its public one].
    #[arg(long, env = "LLM_BASE_URL", hide_env_values = true)]
    llm_base_url: Option<String>,
    /// The sampling temperature, 0 to 2 [default: not sent].
    #[arg(long, env = "LLM_TEMPERATURE", hide_env_values = true, value_parser = temperature)]
    llm_temperature: Option<f64>,
    /// Whether the model writes the titles of conversations, in one short call after the first answer.
    #[arg(long, env = "LLM_TITLES", hide_env_values = true, default_value_t = true, action = ArgAction::Set,
        num_args = 0..=1, default_missing_value = "true", value_parser = BoolishValueParser::new())]
    llm_titles: bool,
    /// The most tokens that one answer may have.
    #[arg(long, env = "LLM_MAX_TOKENS", hide_env_values = true, default_value_t = 4096,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    llm_max_tokens: u32,
    /// How many seconds the model may be silent between two pieces of an answer.
    #[arg(long, env = "LLM_TIMEOUT_SECS", hide_env_values = true, default_value_t = 60, value_parser = seconds())]
    llm_timeout_secs: u64,
    /// How often a provider that is busy or out of reach is asked again, for each call of the model.
    #[arg(long, env = "LLM_MAX_RETRIES", hide_env_values = true, default_value_t = 3,
        value_parser = clap::value_parser!(u32).range(0..=10))]
    llm_max_retries: u32,
    /// Whether models may search the web; OpenRouter only, which charges for it.
    #[arg(long, env = "LLM_ENABLE_WEB_SEARCH", hide_env_values = true, default_value_t = false, action = ArgAction::Set,
        num_args = 0..=1, default_missing_value = "true", value_parser = BoolishValueParser::new())]
    llm_enable_web_search: bool,
    /// The version of Anthropic's API to ask for [default: 2023-06-01].
    #[arg(long, env = "LLM_ANTHROPIC_VERSION", hide_env_values = true)]
    llm_anthropic_version: Option<String>,
    /// How the model is told of tools: native, prompt, or auto, which is native until the model's server takes none.
    #[arg(long, env = "LLM_TOOL_MODE", hide_env_values = true)]
    llm_tool_mode: Option<String>,
    /// How many steps of a turn may call tools.
    #[arg(long, env = "MAX_TOOL_TURNS", hide_env_values = true, default_value_t = 10,
        value_parser = clap::value_parser!(u32).range(1..=100))]
    max_tool_turns: u32,
    /// How many seconds a turn may take.
    #[arg(long, env = "TURN_TIMEOUT_SECS", hide_env_values = true, default_value_t = 300, value_parser = seconds())]
    turn_timeout_secs: u64,
    /// How many seconds one tool call may take.
    #[arg(long, env = "TOOL_TIMEOUT_SECS", hide_env_values = true, default_value_t = 30, value_parser = seconds())]
    tool_timeout_secs: u64,
    /// A text file with your own system prompt [default: the built-in one].
    #[arg(long, env = "SYSTEM_PROMPT_FILE", hide_env_values = true)]
    system_prompt_file: Option<PathBuf>,
    /// How many milliseconds the demo model pauses between two words.
    #[arg(long, env = "DEMO_PACE_MS", hide_env_values = true, default_value_t = 20,
        value_parser = clap::value_parser!(u64).range(0..=1000))]
    demo_pace_ms: u64,
    /// How many seconds an event stream may be silent before a sign of life is sent.
    #[arg(long, env = "KEEP_ALIVE_SECS", hide_env_values = true, default_value_t = 5,
        value_parser = clap::value_parser!(u64).range(1..=30))]
    keep_alive_secs: u64,
    /// How many days the events of a finished turn are kept for playback; 0 keeps them for ever.
    #[arg(long, env = "JOURNAL_RETENTION_DAYS", hide_env_values = true, default_value_t = 30,
        value_parser = clap::value_parser!(u64).range(0..=36_500))]
    journal_retention_days: u64,
    /// How many seconds a server may be silent before another one takes its turns for abandoned.
    #[arg(long, env = "TURN_LEASE_SECS", hide_env_values = true, default_value_t = 20, value_parser = seconds())]
    turn_lease_secs: u64,
    /// How many seconds running turns may go on when the server is asked to stop.
    #[arg(long, env = "SHUTDOWN_GRACE_SECS", hide_env_values = true, default_value_t = 20, value_parser = seconds())]
    shutdown_grace_secs: u64,
}

/// What the program is to do, checked.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The address to listen on.
    pub host: IpAddr,
    /// The port to listen on; 0 takes a free one.
    pub port: u16,
    /// Names by which the server may be asked, besides those of this machine; empty for the default.
    pub allowed_hosts: Vec<HostName>,
    /// What clients may use up; no variable sets it.
    pub http_limits: http::Limits,
    /// Where the data is.
    pub database_url: DatabaseUrl,
    /// Which model, and how to reach it.
    pub model: ModelChoice,
    /// Whether the model writes titles.
    pub titles: bool,
    /// What a turn may use up.
    pub limits: Limits,
    /// What the model is told of its task.
    pub system_prompt: SystemPrompt,
    /// How long an event stream may be silent before a sign of life is sent.
    pub keep_alive: Duration,
    /// How long the events of a finished turn are kept; for ever when `None`.
    pub journal_retention: Option<Duration>,
    /// How long a process may be silent before its turns count as abandoned.
    pub turn_lease: Duration,
    /// How long running turns may go on at shutdown.
    pub shutdown_grace: Duration,
}

/// A setting is wrong.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The command line, or a variable that stands for an option, does not parse. Also `--help` and `--version`.
    #[error(transparent)]
    Options(#[from] clap::Error),
    /// The database's address makes no sense.
    #[error(transparent)]
    Database(#[from] DbError),
    /// A value makes no sense.
    #[error("{setting} {problem}")]
    Bad {
        /// The environment variable.
        setting: &'static str,
        /// What is wrong with it, and what would be right.
        problem: String,
    },
}

impl Settings {
    /// Reads the command line and the environment. What makes sense to the model only, `llm::connect` checks.
    pub fn from_environment() -> Result<Self, ConfigError> {
        let matches = Options::command().mut_args(without_blank_variable).try_get_matches()?;
        check(Options::from_arg_matches(&matches)?)
    }
}

/// Lets an option forget its variable when that holds nothing, as compose files and `.env` files set them: clap would
/// take it for a value, and a bad one.
fn without_blank_variable(arg: Arg) -> Arg {
    let value = arg.get_env().and_then(std::env::var_os);
    let blank = value.is_some_and(|value| value.to_str().is_some_and(|text| text.trim().is_empty()));
    if blank { arg.env(None) } else { arg }
}

fn check(options: Options) -> Result<Settings, ConfigError> {
    let host = options.host;
    let model = model_choice(&options)?;
    let limits = Limits {
        steps: options.max_tool_turns,
        turn_time: Duration::from_secs(options.turn_timeout_secs),
        tool_time: Duration::from_secs(options.tool_timeout_secs),
        ..Limits::default()
    };
    Ok(Settings {
        host,
        port: options.port,
        allowed_hosts: allowed_hosts(options.allowed_hosts)?,
        http_limits: http::Limits::default(),
        database_url: options.database_url.expose_secret().parse()?,
        model,
        titles: options.llm_titles,
        limits,
        system_prompt: system_prompt(options.system_prompt_file)?,
        keep_alive: Duration::from_secs(options.keep_alive_secs),
        journal_retention: Some(Duration::from_secs(options.journal_retention_days * SECS_PER_DAY))
            .filter(|time| !time.is_zero()),
        turn_lease: Duration::from_secs(options.turn_lease_secs),
        shutdown_grace: Duration::from_secs(options.shutdown_grace_secs),
    })
}

fn allowed_hosts(names: Vec<String>) -> Result<Vec<HostName>, ConfigError> {
    let parse = |name: String| {
        name.parse()
            .map_err(|advice| bad("ALLOWED_HOSTS", format!("holds {name:?}, which no request asks for; {advice}")))
    };
    names.into_iter().filter_map(|name| set(Some(name))).map(parse).collect()
}

fn model_choice(options: &Options) -> Result<ModelChoice, ConfigError> {
    let tool_mode = set(options.llm_tool_mode.clone()).map_or(Ok(ToolMode::Auto), |word| tool_mode(&word))?;
    let Some((provider, api_key)) = choose_provider(options)? else {
        return Ok(ModelChoice::Demo { pace: Duration::from_millis(options.demo_pace_ms) });
    };
    Ok(ModelChoice::Provider(ModelSettings {
        base_url: set(options.llm_base_url.clone()),
        api_key: api_key.map(ApiKey::new),
        model: set(options.llm_model.clone()).or(set(options.llm_model_name.clone())),
        temperature: options.llm_temperature,
        max_tokens: options.llm_max_tokens,
        idle_timeout: Duration::from_secs(options.llm_timeout_secs),
        retries: RetryPolicy { retries: options.llm_max_retries, ..RetryPolicy::default() },
        tool_mode,
        web_search: options.llm_enable_web_search,
        anthropic_version: set(options.llm_anthropic_version.clone()),
        ..ModelSettings::new(provider)
    }))
}

/// The provider that is named, else the one whose key is set, with the key that belongs to it; `None` for the demo model.
fn choose_provider(options: &Options) -> Result<Option<(ProviderKind, Option<String>)>, ConfigError> {
    let general = set(options.llm_api_key.clone());
    let own = [
        (ProviderKind::Anthropic, set(options.anthropic_api_key.clone())),
        (ProviderKind::OpenAi, set(options.openai_api_key.clone())),
        (ProviderKind::OpenRouter, set(options.openrouter_api_key.clone())),
    ];
    if let Some(name) = set(options.llm_provider.clone()) {
        if name.eq_ignore_ascii_case("demo") {
            return Ok(None);
        }
        let provider = ProviderKind::from_str(&name).map_err(|error| bad("LLM_PROVIDER", error))?;
        let own = own.into_iter().find(|(kind, _)| *kind == provider).and_then(|(_, key)| key);
        return Ok(Some((provider, general.or(own))));
    }
    if let Some((provider, key)) = own.into_iter().find(|(_, key)| key.is_some()) {
        return Ok(Some((provider, key)));
    }
    if general.is_some() {
        return Err(bad("LLM_API_KEY", "is set, but not whose key it is; set LLM_PROVIDER too"));
    }
    Ok(None)
}

fn tool_mode(word: &str) -> Result<ToolMode, ConfigError> {
    ToolMode::from_str(word).map_err(|error| bad("LLM_TOOL_MODE", error))
}

fn system_prompt(file: Option<PathBuf>) -> Result<SystemPrompt, ConfigError> {
    let Some(file) = file.filter(|file| !file.as_os_str().is_empty()) else { return Ok(SystemPrompt::BuiltIn) };
    let text = std::fs::read_to_string(&file).map_err(|error| {
        bad("SYSTEM_PROMPT_FILE", format!("names {}, which cannot be read: {error}", file.display()))
    })?;
    if text.trim().is_empty() {
        return Err(bad("SYSTEM_PROMPT_FILE", format!("names {}, which is empty", file.display())));
    }
    Ok(SystemPrompt::Own(Arc::from(text)))
}

fn set(value: Option<String>) -> Option<String> {
    value.map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

fn seconds() -> impl TypedValueParser<Value = u64> {
    clap::value_parser!(u64).range(1..=86_400)
}

/// Checked here too, since the demo model's settings are checked by nobody else.
fn temperature(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok().filter(|number| (0.0..=2.0).contains(number));
    number.ok_or_else(|| "LLM_TEMPERATURE must be a number from 0 to 2".to_owned())
}

fn bad(setting: &'static str, problem: impl Display) -> ConfigError {
    ConfigError::Bad { setting, problem: problem.to_string() }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use tallybook_llm::{ModelSettings, ProviderKind, ToolMode};

    use super::{ModelChoice, Options, Settings, check};

    /// The environment of whoever runs the tests must not matter, so every variable in question is given.
    fn read(extra: &[&str]) -> Result<Settings, String> {
        let mut args = vec!["tallybook"];
        for option in
            ["--llm-provider", "--llm-api-key", "--anthropic-api-key", "--openai-api-key", "--openrouter-api-key"]
        {
            if !extra.contains(&option) {
                args.extend([option, ""]);
            }
        }
        args.extend(extra);
        let options = Options::try_parse_from(args).map_err(|error| error.to_string())?;
        check(options).map_err(|error| error.to_string())
    }

    fn provider_settings(settings: &Settings) -> &ModelSettings {
        let ModelChoice::Provider(settings) = &settings.model else { panic!("the demo model") };
        settings
    }

    #[test]
    fn without_a_key_the_demo_answers() {
        assert!(matches!(read(&[]).unwrap().model, ModelChoice::Demo { .. }));
    }

    #[test]
    fn a_key_chooses_its_provider() {
        let settings = read(&["--openai-api-key", "sk-secret"]).unwrap();
        assert_eq!(provider_settings(&settings).provider, ProviderKind::OpenAi);
        assert!(!format!("{settings:?}").contains("sk-secret"));
        let both = read(&["--openai-api-key", "sk-1", "--llm-provider", "anthropic", "--anthropic-api-key", "sk-2"]);
        assert_eq!(provider_settings(&both.unwrap()).provider, ProviderKind::Anthropic);
    }

    #[test]
    fn the_password_of_the_database_is_not_printed() {
        let url = "mysql://tally:s3cret@db.example/book";
        let settings = read(&["--database-url", url]).unwrap();
        assert!(!format!("{settings:?}").contains("s3cret"));
        let options = Options::try_parse_from(["tallybook", "--database-url", url]).unwrap();
        assert!(!format!("{options:?}").contains("s3cret"));
    }

    #[test]
    fn retries_web_search_and_the_version_of_the_api() {
        let read = |args: &[&str]| {
            let args = [&["--llm-provider", "openrouter", "--llm-api-key", "sk-1"], args].concat();
            provider_settings(&read(&args).unwrap()).clone()
        };
        let plain = read(&[]);
        assert_eq!((plain.retries.retries, plain.web_search, plain.anthropic_version), (3, false, None));
        let args = ["--llm-max-retries", "0", "--llm-enable-web-search", "1", "--llm-anthropic-version", "2024-01-01"];
        let set = read(&args);
        assert_eq!((set.retries.retries, set.web_search), (0, true));
        assert_eq!(set.anthropic_version.as_deref(), Some("2024-01-01"));
    }

    #[test]
    fn titles_are_written_unless_that_is_switched_off() {
        assert!(read(&[]).unwrap().titles);
        assert!(!read(&["--llm-titles", "false"]).unwrap().titles);
    }

    #[test]
    fn the_tool_mode_is_a_word_in_any_case() {
        for (word, mode) in [(" ", ToolMode::Auto), ("Prompt", ToolMode::Prompt), ("native", ToolMode::Native)] {
            let settings = read(&["--llm-provider", "ollama", "--llm-tool-mode", word]).unwrap();
            assert_eq!(provider_settings(&settings).tool_mode, mode);
        }
    }

    #[test]
    fn a_bad_value_is_named() {
        for (args, name) in [
            (["--llm-provider", "hal9000"], "LLM_PROVIDER"),
            (["--llm-temperature", "hot"], "LLM_TEMPERATURE"),
            (["--llm-tool-mode", "telepathy"], "LLM_TOOL_MODE"),
            (["--llm-api-key", "sk-1"], "LLM_API_KEY"),
            (["--system-prompt-file", "/does/not/exist"], "SYSTEM_PROMPT_FILE"),
            (["--port", "http"], "PORT"),
            (["--host", "nowhere"], "HOST"),
            (["--allowed-hosts", "chat.example.org,https://b.example"], "ALLOWED_HOSTS holds \"https://b.example\""),
            (["--database-url", "postgres://localhost/x"], "DATABASE_URL"),
            (["--max-tool-turns", "0"], "MAX_TOOL_TURNS"),
            (["--llm-max-retries", "11"], "LLM_MAX_RETRIES"),
            (["--llm-enable-web-search", "perhaps"], "LLM_ENABLE_WEB_SEARCH"),
            (["--llm-titles", "maybe"], "LLM_TITLES"),
        ] {
            let error = read(&args).unwrap_err();
            assert!(error.contains(name), "{error}");
        }
    }
}
