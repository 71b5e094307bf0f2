//! Options of the command line and their environment variables. Other modules check their values.

use std::{
    collections::BTreeSet,
    io,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
};

use clap::{
    Arg, ArgAction, CommandFactory as _, FromArgMatches as _, Id, Parser, Subcommand, ValueEnum,
    builder::{BoolishValueParser, TypedValueParser},
    parser::ValueSource,
};
use clap_complete::Shell;
use ipnet::IpNet;
use secrecy::SecretString;
use tallybook_accounts::{AccountsMode, SignUp};
use tallybook_files::{DEFAULT_MAX_FILE_BYTES, DEFAULT_MAX_USER_BYTES};
use tallybook_runtime_settings::MAX_WAIT_HOURS;
use tallybook_tools::AllowedHost;

/// A self-hosted AI chat that records every tool call.
///
/// Each option can also be set with the environment variable shown next to it. An empty variable counts as unset.
#[derive(Clone, Debug, Parser)]
#[command(name = "tallybook", version, about)]
#[expect(clippy::doc_markdown, reason = "--help prints these comments, and backticks would appear in its output")]
#[expect(clippy::struct_excessive_bools, reason = "each is an independent switch")]
pub struct Options {
    #[command(subcommand)]
    pub(crate) task: Option<Task>,
    /// Address to listen on; 0.0.0.0 listens on all interfaces.
    #[arg(long, env = "HOST", default_value = "127.0.0.1")]
    pub(crate) host: IpAddr,
    /// Port to listen on; 0 selects a free port.
    #[arg(long, env = "PORT", default_value_t = 3000)]
    pub(crate) port: u16,
    /// Comma-separated host names accepted in the Host header, besides localhost [default: all; on a loopback address,
    /// none].
    #[arg(long, env = "ALLOWED_HOSTS", value_delimiter = ',')]
    pub(crate) allowed_hosts: Vec<String>,
    /// URL at which users reach the server, such as https://chat.example.org. It is used in links to approvals,
    /// invitations and the setup of the first admin [default: the URL of the request].
    #[arg(long, env = "PUBLIC_URL")]
    pub(crate) public_url: Option<String>,
    /// Require sign-in: on, off, or auto (off on a loopback address, on elsewhere). off is allowed only on a loopback
    /// address.
    #[arg(long, env = "ACCOUNTS", value_enum, default_value_t, ignore_case = true)]
    pub(crate) accounts: AccountsMode,
    /// Sign-up policy: any visitor can create an account, only users with an invitation link can, or only admins can.
    #[arg(long, env = "SIGN_UP", value_enum, default_value_t, ignore_case = true)]
    pub(crate) sign_up: SignUp,
    /// Issuer URL of the OpenID Connect provider, exactly as in its metadata [default: none].
    #[arg(long, env = "OIDC_ISSUER", hide_env_values = true)]
    pub(crate) oidc_issuer: Option<String>,
    /// Client ID of this server at the OpenID Connect provider.
    #[arg(long, env = "OIDC_CLIENT_ID", hide_env_values = true)]
    pub(crate) oidc_client_id: Option<String>,
    /// Client secret of this server at the OpenID Connect provider [default: none, for a public client].
    #[arg(long, env = "OIDC_CLIENT_SECRET", hide_env_values = true)]
    pub(crate) oidc_client_secret: Option<SecretString>,
    /// Label of the sign-in button [default: the provider's host name].
    #[arg(long, env = "OIDC_NAME", hide_env_values = true)]
    pub(crate) oidc_name: Option<String>,
    /// Comma-separated scopes to request from the OpenID Connect provider, besides openid.
    #[arg(long, env = "OIDC_SCOPES", hide_env_values = true, value_delimiter = ',', default_value = "email,profile")]
    pub(crate) oidc_scopes: Vec<String>,
    /// Comma-separated email domains. Sign-in with the OpenID Connect provider then requires a verified address in one
    /// of them [default: all users of the provider].
    #[arg(long, env = "OIDC_EMAIL_DOMAINS", hide_env_values = true, value_delimiter = ',')]
    pub(crate) oidc_email_domains: Vec<String>,
    /// Claim of the OpenID Connect provider that lists a user's groups. Sign-in then sets the user's groups; a name
    /// with dots is also a path, as in realm_access.roles [default: none].
    #[arg(long, env = "OIDC_GROUPS_CLAIM", hide_env_values = true)]
    pub(crate) oidc_groups_claim: Option<String>,
    /// Seconds for which browsers must use HTTPS after an HTTPS visit (header Strict-Transport-Security); 0 omits the
    /// header.
    #[arg(long, env = "HSTS_SECS", hide_env_values = true, default_value_t = 0)]
    pub(crate) hsts_secs: u64,
    /// Allow users to share conversations with links. Anyone with a link can read the conversation.
    #[arg(long, env = "SHARING", hide_env_values = true, default_value_t = true, action = ArgAction::Set,
        num_args = 0..=1, default_missing_value = "true", value_parser = BoolishValueParser::new())]
    pub(crate) sharing: bool,
    /// Token with which monitoring reads /metrics, and nothing else [default: none].
    #[arg(long, env = "METRICS_TOKEN", hide_env_values = true)]
    pub(crate) metrics_token: Option<SecretString>,
    /// Text of at least 32 characters from which the key is derived that encrypts secrets in the database. The same on
    /// every server of a database [default: a key file beside an embedded database].
    #[arg(long, env = "SECRET_KEY", hide_env_values = true)]
    pub(crate) secret_key: Option<SecretString>,
    /// Comma-separated addresses or networks of trusted proxies. The server trusts the client address in their
    /// X-Forwarded-For header [default: none].
    #[arg(long, env = "TRUSTED_PROXIES", value_delimiter = ',', value_parser = network)]
    pub(crate) trusted_proxies: Vec<IpNet>,
    /// Settings file [default: tallybook.toml in the working directory, if it exists].
    #[arg(long, env = "CONFIG_FILE")]
    pub(crate) config_file: Option<PathBuf>,
    /// URL of the database: sqlite://FILE or mysql://USER:PASSWORD@HOST/DATABASE.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, default_value = "sqlite://data/tallybook.db")]
    pub(crate) database_url: SecretString,
    /// Provider of the model: anthropic, openai, openrouter, ollama or demo [default: the provider whose API key is
    /// set, otherwise demo].
    #[arg(long, env = "LLM_PROVIDER", hide_env_values = true)]
    pub(crate) llm_provider: Option<String>,
    /// API key of the provider.
    #[arg(long, env = "LLM_API_KEY", hide_env_values = true)]
    pub(crate) llm_api_key: Option<String>,
    /// API key of Anthropic. Selects this provider if LLM_PROVIDER is not set.
    #[arg(long, env = "ANTHROPIC_API_KEY", hide_env_values = true)]
    pub(crate) anthropic_api_key: Option<String>,
    /// API key of OpenAI. Selects this provider if LLM_PROVIDER is not set.
    #[arg(long, env = "OPENAI_API_KEY", hide_env_values = true)]
    pub(crate) openai_api_key: Option<String>,
    /// API key of OpenRouter. Selects this provider if LLM_PROVIDER is not set.
    #[arg(long, env = "OPENROUTER_API_KEY", hide_env_values = true)]
    pub(crate) openrouter_api_key: Option<String>,
    /// Name of the model [default: a mid-size model of the provider].
    #[arg(long, env = "LLM_MODEL", hide_env_values = true)]
    pub(crate) llm_model: Option<String>,
    /// Alias of LLM_MODEL.
    #[arg(long, env = "LLM_MODEL_NAME", hide_env_values = true)]
    pub(crate) llm_model_name: Option<String>,
    /// Name of the model, if the provider is Anthropic and neither LLM_MODEL nor LLM_MODEL_NAME is set.
    #[arg(long, env = "ANTHROPIC_MODEL", hide_env_values = true)]
    pub(crate) anthropic_model: Option<String>,
    /// Model that writes the summaries of long conversations, like `summary_model` in the settings file.
    #[arg(long, env = "SUMMARY_MODEL", hide_env_values = true)]
    pub(crate) summary_model: Option<String>,
    /// Summarizes long conversations.
    #[arg(long, env = "CONVERSATION_SUMMARY_ENABLED", hide_env_values = true, default_value_t = true, action = ArgAction::Set,
        num_args = 0..=1, default_missing_value = "true", value_parser = BoolishValueParser::new())]
    pub(crate) conversation_summary_enabled: bool,
    /// Base URL of the provider's API [default: its public URL].
    #[arg(long, env = "LLM_BASE_URL", hide_env_values = true)]
    pub(crate) llm_base_url: Option<String>,
    /// Sampling temperature, 0 to 2 [default: not sent].
    #[arg(long, env = "LLM_TEMPERATURE", hide_env_values = true, value_parser = temperature)]
    pub(crate) llm_temperature: Option<f64>,
    /// Let the model write the titles of conversations, with one short call after the first answer.
    #[arg(long, env = "LLM_TITLES", hide_env_values = true, default_value_t = true, action = ArgAction::Set,
        num_args = 0..=1, default_missing_value = "true", value_parser = BoolishValueParser::new())]
    pub(crate) llm_titles: bool,
    /// Maximum number of tokens in one answer.
    #[arg(long, env = "LLM_MAX_TOKENS", hide_env_values = true, default_value_t = 4096,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) llm_max_tokens: u32,
    /// Size of the model's context window, in tokens. Prompt and answer together stay within it.
    #[arg(long, env = "LLM_CONTEXT_TOKENS", hide_env_values = true, default_value_t = 128_000,
        value_parser = clap::value_parser!(u32).range(1_000..=10_000_000))]
    pub(crate) llm_context_tokens: u32,
    /// Timeout between two chunks of a model's answer, in seconds.
    #[arg(long, env = "LLM_TIMEOUT_SECS", hide_env_values = true, default_value_t = 60, value_parser = seconds())]
    pub(crate) llm_timeout_secs: u64,
    /// Maximum number of retries of a model call if the provider is busy or unreachable.
    #[arg(long, env = "LLM_MAX_RETRIES", hide_env_values = true, default_value_t = 3,
        value_parser = clap::value_parser!(u32).range(0..=10))]
    pub(crate) llm_max_retries: u32,
    /// Let models search the web. Only OpenRouter supports this, and charges for it.
    #[arg(long, env = "LLM_ENABLE_WEB_SEARCH", hide_env_values = true, default_value_t = false, action = ArgAction::Set,
        num_args = 0..=1, default_missing_value = "true", value_parser = BoolishValueParser::new())]
    pub(crate) llm_enable_web_search: bool,
    /// Version of Anthropic's API [default: 2023-06-01].
    #[arg(long, env = "LLM_ANTHROPIC_VERSION", hide_env_values = true)]
    pub(crate) llm_anthropic_version: Option<String>,
    /// Mode in which tools are passed to the model: native, prompt, or auto (native unless the model's server rejects
    /// tools).
    #[arg(long, env = "LLM_TOOL_MODE", hide_env_values = true)]
    pub(crate) llm_tool_mode: Option<String>,
    /// Maximum number of steps of a turn that can call tools [default: the value in the settings file, otherwise 10].
    #[arg(long, env = "MAX_TOOL_TURNS", hide_env_values = true, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) max_tool_turns: Option<u32>,
    /// Timeout of a turn, in seconds.
    #[arg(long, env = "TURN_TIMEOUT_SECS", hide_env_values = true, default_value_t = 300, value_parser = seconds())]
    pub(crate) turn_timeout_secs: u64,
    /// Timeout of a tool call, in seconds.
    #[arg(long, env = "TOOL_TIMEOUT_SECS", hide_env_values = true, default_value_t = 30, value_parser = seconds())]
    pub(crate) tool_timeout_secs: u64,
    /// Maximum number of concurrent turns per user; 0 for no limit [default: 4 if users sign in, otherwise 0].
    #[arg(long, env = "MAX_TURNS_PER_PERSON", hide_env_values = true)]
    pub(crate) max_turns_per_person: Option<u32>,
    /// Maximum number of messages that one user can send per minute; 0 for no limit. Other requests that call a model
    /// also count; background tasks of API clients count a quarter each [default: 30 if users sign in, otherwise 0].
    #[arg(long, env = "MAX_MESSAGES_PER_MINUTE", hide_env_values = true)]
    pub(crate) max_messages_per_minute: Option<u32>,
    /// Maximum number of input and output tokens per user within 24 hours; 0 for no limit [default: 5000000 if users
    /// sign in, otherwise 0].
    #[arg(long, env = "MAX_TOKENS_PER_DAY", hide_env_values = true)]
    pub(crate) max_tokens_per_day: Option<u64>,
    /// Text file with your own system prompt [default: the built-in prompt].
    #[arg(long, env = "SYSTEM_PROMPT_FILE", hide_env_values = true)]
    pub(crate) system_prompt_file: Option<PathBuf>,
    /// Offers models the tool fetch_page, which reads pages of the public web. Each call needs approval unless its host
    /// is in FETCH_PAGE_HOSTS.
    #[arg(long, env = "FETCH_PAGE", hide_env_values = true, default_value_t = false, action = ArgAction::Set,
        num_args = 0..=1, default_missing_value = "true", value_parser = BoolishValueParser::new())]
    pub(crate) fetch_page: bool,
    /// Comma-separated hosts whose pages models can read without approval; *.example.org means all subdomains of
    /// example.org [default: none].
    #[arg(long, env = "FETCH_PAGE_HOSTS", hide_env_values = true, value_delimiter = ',')]
    pub(crate) fetch_page_hosts: Vec<AllowedHost>,
    /// JSON file with tool servers (MCP) [default: .mcp_servers, if it exists].
    #[arg(long, env = "MCP_SERVERS_FILE", hide_env_values = true)]
    pub(crate) mcp_servers_file: Option<PathBuf>,
    /// URL of the OAuth token endpoint for tool servers. The client credentials are in MCP_OAUTH_CLIENT_ID and
    /// MCP_OAUTH_CLIENT_SECRET.
    #[arg(long, env = "MCP_OAUTH_TOKEN_URL", hide_env_values = true)]
    pub(crate) mcp_oauth_token_url: Option<String>,
    /// OAuth scope to request from the token endpoint.
    #[arg(long, env = "MCP_OAUTH_SCOPE", hide_env_values = true)]
    pub(crate) mcp_oauth_scope: Option<String>,
    /// OTLP/HTTP endpoint for traces of turns, such as http://localhost:4318 [default: none].
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT", hide_env_values = true)]
    pub(crate) otel_exporter_otlp_endpoint: Option<String>,
    /// Format of the log: text, or JSON with one object per line.
    #[arg(long, env = "LOG_FORMAT", value_enum, default_value_t, ignore_case = true)]
    pub(crate) log_format: LogFormat,
    /// Hours that a tool call waits for approval before it is denied; 0 for no timeout [default: the value in the
    /// settings file, otherwise 0].
    #[arg(long, env = "CONSENT_WAIT_HOURS", hide_env_values = true, value_parser = wait_hours)]
    pub(crate) consent_wait_hours: Option<f64>,
    /// Seconds that a response to an API client waits for the approval of a tool call. After that, the response ends
    /// and says where the turn continues.
    #[arg(long, env = "APPROVAL_WAIT_SECS", hide_env_values = true, default_value_t = 300,
        value_parser = clap::value_parser!(u64).range(0..=86_400))]
    pub(crate) approval_wait_secs: u64,
    /// Pause of the demo model between two words, in milliseconds.
    #[arg(long, env = "DEMO_PACE_MS", hide_env_values = true, default_value_t = 20,
        value_parser = clap::value_parser!(u64).range(0..=1000))]
    pub(crate) demo_pace_ms: u64,
    /// Interval of keep-alives on a silent event stream, in seconds.
    #[arg(long, env = "KEEP_ALIVE_SECS", hide_env_values = true, default_value_t = 5,
        value_parser = clap::value_parser!(u64).range(1..=30))]
    pub(crate) keep_alive_secs: u64,
    /// Days for which the events of a finished turn are stored for playback; 0 stores them forever.
    #[arg(long, env = "JOURNAL_RETENTION_DAYS", hide_env_values = true, default_value_t = 30,
        value_parser = clap::value_parser!(u64).range(0..=36_500))]
    pub(crate) journal_retention_days: u64,
    /// Days before deleted data is purged from the tool history; 0 purges it immediately.
    #[arg(long, env = "RETENTION_DAYS", hide_env_values = true, default_value_t = 30,
        value_parser = clap::value_parser!(u32).range(0..=36_500))]
    pub(crate) retention_days: u32,
    /// Maximum size of an uploaded file, in bytes.
    #[arg(long, env = "MAX_FILE_BYTES", hide_env_values = true, default_value_t = DEFAULT_MAX_FILE_BYTES,
        value_parser = clap::value_parser!(u64).range(1..=134_217_728))]
    pub(crate) max_file_bytes: u64,
    /// Maximum size of all files of a user, in bytes; 0 for no limit.
    #[arg(long, env = "MAX_FILES_PER_USER_BYTES", hide_env_values = true, default_value_t = DEFAULT_MAX_USER_BYTES)]
    pub(crate) max_files_per_user_bytes: u64,
    /// Place of the content of files: database, file:///FOLDER or s3://BUCKET/PREFIX.
    #[arg(long, env = "FILES_URL", hide_env_values = true, default_value = "database")]
    pub(crate) files_url: String,
    /// Lease duration of turns, in seconds. If a server does not renew a turn's lease in time, another server marks the
    /// turn as interrupted.
    #[arg(long, env = "TURN_LEASE_SECS", hide_env_values = true, default_value_t = 20, value_parser = seconds())]
    pub(crate) turn_lease_secs: u64,
    /// Seconds that running turns have to finish when the server stops.
    #[arg(long, env = "SHUTDOWN_GRACE_SECS", hide_env_values = true, default_value_t = 20, value_parser = seconds())]
    pub(crate) shutdown_grace_secs: u64,
    /// Names of the options that the command line or the environment sets.
    #[arg(skip)]
    set: BTreeSet<String>,
}

/// Format of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// One line of text per entry, for people.
    #[default]
    Text,
    /// One JSON object per line, for programs.
    Json,
}

/// Task of the program instead of serving.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum Task {
    /// Checks the settings, prints a summary or the error, and exits.
    CheckConfig {
        /// Also prints the models, tool servers and settings that admins have set in the page. Opens the database like
        /// a start of the server, which migrates it.
        #[arg(long)]
        database: bool,
    },
    /// Prints the licenses of all components of the program and its page.
    Licenses,
    /// Checks that the server on HOST and PORT is alive. Fails if it is not.
    #[command(name = "healthcheck")]
    HealthCheck,
    /// Prints the completions of a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Prints the manual page, in the format of man.
    Man,
    /// Manages the server's data, and exits.
    #[command(subcommand)]
    Admin(AdminTask),
}

/// Task of `tallybook admin`.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum AdminTask {
    /// Creates an admin account. Prompts for the password.
    Create {
        /// User name of the admin.
        name: String,
        /// Reads the password from the first line of standard input.
        #[arg(long)]
        password_stdin: bool,
    },
    /// Lists the accounts: name, role, creation date, and date of deactivation.
    Users,
    /// Sets a new password for an account and signs the user out everywhere. Prompts for the password.
    Password {
        /// User name of the account.
        name: String,
        /// Reads the password from the first line of standard input.
        #[arg(long)]
        password_stdin: bool,
        /// Also revokes the account's API keys.
        #[arg(long)]
        revoke_keys: bool,
    },
    /// Erases a user permanently: the account and all its conversations, keys, links and usage, at once. Asks for
    /// confirmation.
    Erase {
        /// User name of the account.
        name: String,
        /// Erases without asking for confirmation.
        #[arg(long)]
        yes: bool,
    },
    /// Writes a copy of the embedded database to a file. Works while the server runs.
    Backup {
        /// File to create. It must not exist yet.
        file: PathBuf,
    },
    /// Replaces the embedded database with a backup. Requires that no server runs. The old database is kept next to the
    /// new one.
    Restore {
        /// File that `backup` created.
        file: PathBuf,
    },
    /// Checks the consistency of the database. Fails if it finds an inconsistency.
    Check,
    /// Shows the number and size of files by user, and what nothing refers to.
    Files {
        /// Lists the files of the user with this name, the newest first.
        #[arg(long, value_name = "NAME")]
        user: Option<String>,
    },
    /// Lists the API keys: ID, user, prefix, creation date, last use, and name.
    Keys {
        /// Permanently revokes the API key with this ID.
        #[arg(long, value_name = "ID")]
        revoke: Option<i64>,
    },
    /// Shows how many deleted conversations are retained and how many are due for purging.
    Retention {
        /// Purges the due conversations now.
        #[arg(long)]
        purge: bool,
    },
}

impl Options {
    /// Reads the command line and the environment.
    pub fn read() -> Result<Self, clap::Error> {
        let matches = Self::command().mut_args(without_blank_variable).try_get_matches()?;
        let mut options = Self::from_arg_matches(&matches)?;
        let is_set = |name: &&str| matches.value_source(name).is_some_and(|source| source != ValueSource::DefaultValue);
        options.set = matches.ids().map(Id::as_str).filter(is_set).map(str::to_owned).collect();
        Ok(options)
    }

    /// Returns `true` if the command line or the environment sets this option, even if it sets the default.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.set.contains(name)
    }

    /// Returns the task to run instead of serving.
    #[must_use]
    pub fn task(&self) -> Option<&Task> {
        self.task.as_ref()
    }

    /// Returns the address on which the server listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        SocketAddr::new(self.host, self.port)
    }

    /// Returns the completions of a shell, as the text of a script for it.
    #[must_use]
    pub fn completions(shell: Shell) -> Vec<u8> {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut Self::command(), "tallybook", &mut script);
        script
    }

    /// Returns the manual page, in the format of `man`. Fails only if the page cannot be rendered.
    pub fn manual() -> io::Result<Vec<u8>> {
        let mut page = Vec::new();
        clap_mangen::Man::new(Self::command()).render(&mut page)?;
        Ok(page)
    }
}

/// Returns the names of the environment variables of options.
pub(crate) fn variables() -> Vec<String> {
    let variable = |arg: &Arg| arg.get_env().map(|name| name.to_string_lossy().into_owned());
    Options::command().get_arguments().filter_map(variable).collect()
}

/// Makes an option ignore its variable if the variable is blank. Compose files and `.env` files often set blank
/// variables, which clap would refuse as invalid values.
fn without_blank_variable(arg: Arg) -> Arg {
    let value = arg.get_env().and_then(std::env::var_os);
    let blank = value.is_some_and(|value| value.to_str().is_some_and(|text| text.trim().is_empty()));
    if blank { arg.env(None) } else { arg }
}

/// Parses a network or a single address.
fn network(text: &str) -> Result<IpNet, String> {
    let text = text.trim();
    let address = text.parse::<IpAddr>().map(|address| IpNet::from(address.to_canonical()));
    address
        .or_else(|_| text.parse())
        .map_err(|_| "not an IP address or a network; examples: 192.0.2.1, 10.0.0.0/8".to_owned())
}

/// Returns the trimmed value; `None` if it is blank.
pub(crate) fn set(value: Option<String>) -> Option<String> {
    value.map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

fn seconds() -> impl TypedValueParser<Value = u64> {
    clap::value_parser!(u64).range(1..=86_400)
}

/// Returns the number of hours if it is in range, or otherwise a description of the problem.
pub(crate) fn check_wait_hours(hours: f64) -> Result<f64, String> {
    let fits = (0.0..=MAX_WAIT_HOURS).contains(&hours);
    if fits { Ok(hours) } else { Err("must be a number of hours from 0 to 87600; 0 means no timeout".to_owned()) }
}

fn wait_hours(text: &str) -> Result<f64, String> {
    let hours = text.trim().parse().map_err(|_| "CONSENT_WAIT_HOURS must be a number of hours".to_owned())?;
    check_wait_hours(hours).map_err(|problem| format!("CONSENT_WAIT_HOURS {problem}"))
}

/// Parses a temperature. Checks the range here, because no other check covers it for the demo model.
fn temperature(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok().filter(|number| (0.0..=2.0).contains(number));
    number.ok_or_else(|| "LLM_TEMPERATURE must be a number from 0 to 2".to_owned())
}
