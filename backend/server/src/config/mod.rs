//! Reads and checks all settings once at the start. `cli` parses the command line and the environment, `file` the
//! settings file. Each error is a sentence that names the setting. The other modules check one subject each:
//!
//! - `environment`: the single model that variables configure without a settings file;
//! - `review`: the models that review calls; `memory`: summaries; `plan`: planned answers;
//! - `tool_servers`: the tool servers of the settings file and of `.mcp_servers`; `openid`: the identity provider;
//!   `secrets`: the values to redact.

pub(crate) mod cli;
mod environment;
mod error;
mod file;
mod memory;
mod openid;
mod plan;
mod position;
#[cfg(test)]
mod reference;
mod review;
mod secrets;
mod summary;
#[cfg(test)]
mod tests;
mod tool_servers;
mod unknown;

use std::{net::IpAddr, path::PathBuf, sync::Arc, time::Duration};

use secrecy::{ExposeSecret as _, SecretString};
use tallybook_accounts::AccountsSettings;
use tallybook_agent::{Limits, SystemPrompt};
use tallybook_conversations::{
    MemorySettings, PlanSettings, UserLimits,
    models::{ModelEntry, ReviewSettings},
};
use tallybook_database::DatabaseUrl;
use tallybook_files::{BadStorageUrl, FilesSettings};
use tallybook_llm::{ModelSettings, ProviderKind};
use tallybook_mcp::ToolServersSettings;
use tallybook_protocol::{MemoryFields, PlanFields, ReviewFields, ServerSettings};
use tallybook_runtime_settings::Configured;
use tallybook_tools::{AllowedHost, Secrets};
use url::Url;

use self::{error::bad, file::SettingsFile};
use crate::config::cli::set;
use crate::http::{self, HostName, MetricsToken, PublicUrl};

pub use cli::{AdminTask, LogFormat, Options, Task};
pub use error::ConfigError;

/// Default maximum number of steps of a turn that can call tools.
const MAX_TOOL_TURNS: u32 = 10;
const SECS_PER_DAY: u64 = 24 * 60 * 60;
/// Default limits per user if users sign in: concurrent turns, and messages per minute.
const TURNS_PER_PERSON: u32 = 4;
const MESSAGES_PER_MINUTE: u32 = 30;

/// Default limit per user of tokens within 24 hours, if users sign in.
const TOKENS_PER_DAY: u64 = 5_000_000;
/// Minimum length of `SECRET_KEY`.
const MIN_SECRET_KEY_CHARS: usize = 32;

/// The checked settings.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Address to listen on.
    pub host: IpAddr,
    /// Port to listen on; 0 selects a free one.
    pub port: u16,
    /// Host names accepted in the `Host` header, besides localhost; empty for the default.
    pub allowed_hosts: Vec<HostName>,
    /// URL at which users reach the server, for links that are used outside the page.
    pub public_url: Option<PublicUrl>,
    /// Token with which monitoring reads `/metrics`; `None` if there is none.
    pub metrics_token: Option<MetricsToken>,
    /// Secret with which API keys are encrypted in the database, if the operator set one.
    pub secret_key: Option<SecretString>,
    /// Settings of accounts.
    pub accounts: AccountsSettings,
    /// Limits for clients. Environment variables set only two of them: the HSTS time, and how long an API client's
    /// response waits for an approval.
    pub http_limits: http::Limits,
    /// Time limit of the scan for one page of the tool history. It cannot be configured.
    pub tool_history_page_time: Duration,
    /// URL of the database.
    pub database_url: DatabaseUrl,
    /// `true` if the command line or the environment names the database, so that `database_url` is not the default.
    pub is_database_named: bool,
    /// The models, at least one. The first is the default.
    pub models: Vec<ModelEntry>,
    /// The settings that a model has if it does not set them itself. The provider is not used.
    pub model_defaults: ModelSettings,
    /// The models that review high-risk calls, if any do.
    pub review: Option<ReviewSettings>,
    /// Settings of summaries.
    pub memory: MemorySettings,
    /// Settings of planned answers.
    pub plan: PlanSettings,
    /// `true` if models write titles.
    pub titles: bool,
    /// `true` if models may read pages of the public web.
    pub fetch_page: bool,
    /// Hosts whose pages models may read without approval.
    pub fetch_page_hosts: Vec<AllowedHost>,
    /// Limits of a turn.
    pub limits: Limits,
    /// Limits per user.
    pub user_limits: UserLimits,
    /// The system prompt.
    pub system_prompt: SystemPrompt,
    /// Servers with tools in addition to the built-in ones.
    pub tool_servers: ToolServersSettings,
    /// Settings of files.
    pub files: FilesSettings,
    /// Endpoint for traces of turns; `None` sends no traces.
    pub traces: Option<String>,
    /// Format of the log.
    pub log_format: LogFormat,
    /// Interval of silence on an event stream after which a keep-alive is sent.
    pub keep_alive: Duration,
    /// Hours that a call waits for approval before it is refused; 0 is forever.
    pub consent_wait_hours: f64,
    /// Retention time of the events of a finished turn; `None` is forever.
    pub journal_retention: Option<Duration>,
    /// Days before deleted data is purged.
    pub retention_days: f64,
    /// Names of the settings of [`Self::changeable`] that the file or the environment sets, so that they cannot be
    /// changed in the page.
    pub set_in_file: Vec<&'static str>,
    /// Lease duration of turns. If a process does not renew a turn's lease in time, another process marks the turn as
    /// interrupted.
    pub turn_lease: Duration,
    /// Time that running turns have to finish at shutdown.
    pub shutdown_grace: Duration,
    /// Values to redact.
    pub secrets: Secrets,
    /// The settings file that was read.
    pub file: Option<PathBuf>,
    /// Warnings about settings that may not have the intended effect, one sentence each.
    pub remarks: Vec<String>,
}

impl Settings {
    /// Checks the options, and reads the settings file. `models::Catalog` checks how a model is reached.
    pub fn from_options(options: Options) -> Result<Self, ConfigError> {
        check(options)
    }

    /// Returns the models, tool servers and settings of the file and the environment, beside which admins can add
    /// others while the server runs.
    pub fn configured(&self) -> Configured {
        Configured {
            models: self.models.clone(),
            model_defaults: self.model_defaults.clone(),
            tool_servers: self.tool_servers.servers.clone(),
            settings: self.changeable(),
            set_in_file: self.set_in_file.clone(),
        }
    }

    /// Returns the settings that admins can change while the server runs, with their values at the start.
    pub fn changeable(&self) -> ServerSettings {
        let Self { review, memory, plan, accounts, user_limits, .. } = self;
        ServerSettings {
            default_model: None,
            llm_titles: self.titles,
            review: review.as_ref().map(|ReviewSettings { models, mode, quorum, timeout }| ReviewFields {
                models: models.clone(),
                mode: mode.as_str().to_owned(),
                quorum: Some(*quorum),
                timeout_secs: Some(timeout.as_secs()),
            }),
            memory: MemoryFields {
                summary_model: memory.summary_model.clone(),
                after_tokens: memory.after_tokens,
                max_chars: memory.max_chars,
            },
            plan: PlanFields {
                planner_model: plan.planner_model.clone(),
                max_attempts: plan.max_attempts,
                max_total_attempts: plan.max_total_attempts,
            },
            consent_wait_hours: self.consent_wait_hours,
            sharing: accounts.sharing,
            sign_up: accounts.sign_up.as_str().to_owned(),
            max_turns_per_person: user_limits.turns,
            max_messages_per_minute: user_limits.messages_per_minute,
            max_tokens_per_day: user_limits.tokens_per_day,
            retention_days: self.retention_days,
            instructions: String::new(),
        }
    }
}

fn check(options: Options) -> Result<Settings, ConfigError> {
    let host = options.host;
    let file = file::find(options.config_file.as_deref())?;
    let (models, mut remarks) = models(&options, file.as_ref())?;
    let review = review::review(file.as_ref(), &models)?;
    let memory = memory::memory(&options, file.as_ref(), &models)?;
    let plan = plan::plan(file.as_ref(), &models)?;
    let consent_in_file = file.as_ref().map_or(Ok(None), SettingsFile::consent_wait_hours)?;
    let set_in_file = set_in_file(&options, file.as_ref());
    let is_database_named = options.is_set("database_url");
    let accounts = accounts(&options, host)?;
    if accounts.openid.is_some() && !accounts.required {
        remarks.push("OIDC_ISSUER has no effect because sign-in is off. Set ACCOUNTS=on.".to_owned());
    }
    remarks.extend(unknown::remarks(file.as_ref()));
    remarks.extend(unverified_database(&options.database_url));
    let traces = traces(&options)?;
    let tool_servers = tool_servers::tool_servers(&options, file.as_ref())?;
    let limits = Limits {
        steps: max_tool_turns(&options, file.as_ref())?,
        turn_time: Duration::from_secs(options.turn_timeout_secs),
        tool_time: Duration::from_secs(options.tool_timeout_secs),
        ..Limits::default()
    };
    let user_limits = user_limits(&options, host);
    let model_defaults = environment::for_all_models(&options, ProviderKind::OpenAi)?;
    let secrets = secrets::secrets(&options, &models, &accounts, &tool_servers, |name| std::env::var(name).ok());
    Ok(Settings {
        host,
        port: options.port,
        allowed_hosts: allowed_hosts(options.allowed_hosts)?,
        public_url: public_url(options.public_url)?,
        metrics_token: metrics_token(options.metrics_token.as_ref())?,
        secret_key: secret_key(options.secret_key.as_ref())?,
        accounts,
        http_limits: http::Limits {
            hsts: Duration::from_secs(options.hsts_secs),
            approval_wait: Duration::from_secs(options.approval_wait_secs),
            ..http::Limits::default()
        },
        tool_history_page_time: tallybook_tool_history::TIME_FOR_PAGE,
        database_url: options.database_url.expose_secret().parse()?,
        is_database_named,
        models,
        model_defaults,
        review,
        memory,
        plan,
        titles: options.llm_titles,
        fetch_page: options.fetch_page,
        fetch_page_hosts: options.fetch_page_hosts,
        limits,
        user_limits,
        system_prompt: system_prompt(options.system_prompt_file)?,
        tool_servers,
        files: files(&options.files_url, options.max_file_bytes, options.max_files_per_user_bytes)?,
        traces,
        log_format: options.log_format,
        keep_alive: Duration::from_secs(options.keep_alive_secs),
        consent_wait_hours: options.consent_wait_hours.or(consent_in_file).unwrap_or_default(),
        journal_retention: Some(Duration::from_secs(options.journal_retention_days * SECS_PER_DAY))
            .filter(|time| !time.is_zero()),
        retention_days: f64::from(options.retention_days),
        set_in_file,
        turn_lease: Duration::from_secs(options.turn_lease_secs),
        shutdown_grace: Duration::from_secs(options.shutdown_grace_secs),
        secrets,
        file: file.map(|file| file.path),
        remarks,
    })
}

fn files(url: &str, max_file_bytes: u64, max_user_bytes: u64) -> Result<FilesSettings, ConfigError> {
    let storage = url
        .parse()
        .map_err(|error: BadStorageUrl| bad("FILES_URL", format!("is {url:?}, which is not valid; it {error}")))?;
    // Without it, only the files that this process reads itself could be uploaded.
    let program = std::env::current_exe().unwrap_or_default();
    Ok(FilesSettings { max_file_bytes, max_user_bytes, storage, ..FilesSettings::with_program(program) })
}

fn max_tool_turns(options: &Options, file: Option<&SettingsFile>) -> Result<u32, ConfigError> {
    let in_file = file.map_or(Ok(None), SettingsFile::max_tool_turns)?;
    Ok(options.max_tool_turns.or(in_file).unwrap_or(MAX_TOOL_TURNS))
}

/// Returns the names of the changeable settings that the file or the environment sets.
fn set_in_file(options: &Options, file: Option<&SettingsFile>) -> Vec<&'static str> {
    let in_file = [
        ("review", file.is_some_and(|file| file.review().is_some())),
        ("memory", file.is_some_and(|file| file.memory().is_some())),
        ("plan", file.is_some_and(|file| file.plan().is_some())),
        ("consent_wait_hours", matches!(file.map(SettingsFile::consent_wait_hours), Some(Ok(Some(_))))),
    ];
    let options_of = [
        ("llm_titles", "llm_titles"),
        ("memory", "summary_model"),
        ("memory", "conversation_summary_enabled"),
        ("consent_wait_hours", "consent_wait_hours"),
        ("sharing", "sharing"),
        ("sign_up", "sign_up"),
        ("max_turns_per_person", "max_turns_per_person"),
        ("max_messages_per_minute", "max_messages_per_minute"),
        ("max_tokens_per_day", "max_tokens_per_day"),
        ("retention_days", "retention_days"),
    ];
    let set = options_of.into_iter().map(|(setting, option)| (setting, options.is_set(option)));
    let mut names: Vec<_> =
        in_file.into_iter().chain(set).filter(|(_, is_set)| *is_set).map(|(name, _)| name).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Returns the limits per user. Without accounts there is only one user, so only the limits that are set apply.
fn user_limits(options: &Options, host: IpAddr) -> UserLimits {
    let is_shared = AccountsSettings::is_required(options.accounts, host).unwrap_or(true);
    let or = |chosen: Option<u32>, shared| chosen.unwrap_or(if is_shared { shared } else { 0 });
    UserLimits {
        turns: or(options.max_turns_per_person, TURNS_PER_PERSON),
        messages_per_minute: or(options.max_messages_per_minute, MESSAGES_PER_MINUTE),
        tokens_per_day: options.max_tokens_per_day.unwrap_or(if is_shared { TOKENS_PER_DAY } else { 0 }),
    }
}

/// Returns the models in the file, or else the model that the environment configures. Also returns warnings about
/// ignored variables.
fn models(options: &Options, file: Option<&SettingsFile>) -> Result<(Vec<ModelEntry>, Vec<String>), ConfigError> {
    let models = file.map_or(Ok(Vec::new()), |file| file.models(options))?;
    let (Some(file), false) = (file, models.is_empty()) else {
        let (choice, warning) = environment::model_choice(options)?;
        return Ok((vec![ModelEntry::from_environment(choice)], warning.into_iter().collect()));
    };
    let remark = |name| format!("{name} has no effect because {} lists the models.", file.path.display());
    Ok((models, environment::variables_of_one_model(options).map(remark).collect()))
}

fn accounts(options: &Options, host: IpAddr) -> Result<AccountsSettings, ConfigError> {
    let required = AccountsSettings::is_required(options.accounts, host).ok_or_else(|| {
        let problem = format!(
            "is off, but {host} is reachable from other machines, so anyone who can reach it would have full access. \
             Set ACCOUNTS=on or HOST=127.0.0.1"
        );
        bad("ACCOUNTS", problem)
    })?;
    Ok(AccountsSettings {
        required,
        sign_up: options.sign_up,
        sharing: options.sharing,
        trusted_proxies: options.trusted_proxies.clone(),
        openid: openid::openid(options)?,
    })
}

fn traces(options: &Options) -> Result<Option<String>, ConfigError> {
    let Some(endpoint) = set(options.otel_exporter_otlp_endpoint.clone()) else { return Ok(None) };
    let is_sound = Url::parse(&endpoint).is_ok_and(|url| {
        matches!(url.scheme(), "http" | "https") && url.username().is_empty() && url.password().is_none()
    });
    if is_sound {
        return Ok(Some(endpoint));
    }
    let problem = "must be a URL that begins with http:// or https://, without a user name or password";
    Err(bad("OTEL_EXPORTER_OTLP_ENDPOINT", problem))
}

fn allowed_hosts(names: Vec<String>) -> Result<Vec<HostName>, ConfigError> {
    let parse = |name: String| {
        name.parse().map_err(|advice| {
            bad("ALLOWED_HOSTS", format!("contains {name:?}, which cannot match any request; {advice}"))
        })
    };
    names.into_iter().filter_map(|name| set(Some(name))).map(parse).collect()
}

fn public_url(url: Option<String>) -> Result<Option<PublicUrl>, ConfigError> {
    let parse = |url: String| {
        url.parse().map_err(|advice| bad("PUBLIC_URL", format!("is {url:?}, which is not valid; {advice}")))
    };
    set(url).map(parse).transpose()
}

fn metrics_token(token: Option<&SecretString>) -> Result<Option<MetricsToken>, ConfigError> {
    let token = token.and_then(|token| set(Some(token.expose_secret().to_owned())));
    token.map(|token| MetricsToken::new(&token).map_err(|problem| bad("METRICS_TOKEN", problem))).transpose()
}

fn secret_key(key: Option<&SecretString>) -> Result<Option<SecretString>, ConfigError> {
    let Some(key) = key.and_then(|key| set(Some(key.expose_secret().to_owned()))) else { return Ok(None) };
    if key.trim().chars().count() < MIN_SECRET_KEY_CHARS {
        let problem = format!("must have at least {MIN_SECRET_KEY_CHARS} characters. Example: openssl rand -hex 32");
        return Err(bad("SECRET_KEY", problem));
    }
    Ok(Some(key.trim().into()))
}

/// Returns a warning if the URL names a database server on another machine, and not how to verify it. The driver then
/// uses TLS if the server offers it, with any certificate.
fn unverified_database(url: &SecretString) -> Option<String> {
    let url = Url::parse(url.expose_secret()).ok().filter(|url| matches!(url.scheme(), "mysql" | "mariadb"))?;
    let host = url.host_str().filter(|host| !host.parse().is_ok_and(|name: HostName| name.is_local()))?;
    if url.query_pairs().any(|(key, _)| matches!(&*key, "ssl-mode" | "sslmode" | "socket")) {
        return None;
    }
    Some(format!(
        "The connection to the database at {host} does not verify the server's certificate. Append \
         ?ssl-mode=VERIFY_IDENTITY to DATABASE_URL, and &ssl-ca=FILE for a certificate authority of your own. In a \
         network that you trust, append ?ssl-mode=PREFERRED."
    ))
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
