//! Options of the command line and their environment variables. Other modules check their values.

use std::{net::IpAddr, path::PathBuf};

use clap::{
    Arg, ArgAction, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum,
    builder::{BoolishValueParser, TypedValueParser},
};
use ipnet::IpNet;
use secrecy::SecretString;
use tallybook_accounts::{AccountsMode, SignUp};
use tallybook_tools::AllowedHost;

/// A self-hosted chat whose assistant works with tools, and keeps the book on every call.
///
/// Every option can also be given as the environment variable shown beside it. An empty variable counts as unset.
#[derive(Clone, Debug, Parser)]
#[command(name = "tallybook", version, about)]
#[expect(clippy::doc_markdown, reason = "these comments are what --help prints, where backticks would be in the way")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub(crate) struct Options {
    #[command(subcommand)]
    pub(crate) task: Option<Task>,
    /// The address to listen on; 0.0.0.0 listens on all.
    #[arg(long, env = "HOST", default_value = "127.0.0.1")]
    pub(crate) host: IpAddr,
    /// The port to listen on; 0 takes a free one.
    #[arg(long, env = "PORT", default_value_t = 3000)]
    pub(crate) port: u16,
    /// Names by which the server may be asked, besides those of this machine, separated by commas [default: any, but none
    /// on a loopback address].
    #[arg(long, env = "ALLOWED_HOSTS", value_delimiter = ',')]
    pub(crate) allowed_hosts: Vec<String>,
    /// The address at which users reach the server, as in https://chat.example.org. Links to approvals, invitations and the
    /// first admin's setup begin with it [default: the address of the request].
    #[arg(long, env = "PUBLIC_URL")]
    pub(crate) public_url: Option<String>,
    /// Whether people must sign in: on, off, or auto, which is off on a loopback address. It cannot be off elsewhere.
    #[arg(long, env = "ACCOUNTS", value_enum, default_value_t, ignore_case = true)]
    pub(crate) accounts: AccountsMode,
    /// Who may make an account: everybody, whoever has an admin's link, or nobody, so that admins make them.
    #[arg(long, env = "SIGN_UP", value_enum, default_value_t, ignore_case = true)]
    pub(crate) sign_up: SignUp,
    /// The issuer by which people sign in (OpenID Connect), as it writes its own address [default: none].
    #[arg(long, env = "OIDC_ISSUER", hide_env_values = true)]
    pub(crate) oidc_issuer: Option<String>,
    /// What this server is called at the issuer.
    #[arg(long, env = "OIDC_CLIENT_ID", hide_env_values = true)]
    pub(crate) oidc_client_id: Option<String>,
    /// What proves that to the issuer [default: none, for a client that has no secret].
    #[arg(long, env = "OIDC_CLIENT_SECRET", hide_env_values = true)]
    pub(crate) oidc_client_secret: Option<SecretString>,
    /// What people know the issuer by [default: its host].
    #[arg(long, env = "OIDC_NAME", hide_env_values = true)]
    pub(crate) oidc_name: Option<String>,
    /// What the issuer is asked to tell of people, separated by commas.
    #[arg(long, env = "OIDC_SCOPES", hide_env_values = true, value_delimiter = ',', default_value = "email,profile")]
    pub(crate) oidc_scopes: Vec<String>,
    /// Domains of e-mail addresses, separated by commas: only people who have one that the issuer has verified come in by
    /// it [default: everybody].
    #[arg(long, env = "OIDC_EMAIL_DOMAINS", hide_env_values = true, value_delimiter = ',')]
    pub(crate) oidc_email_domains: Vec<String>,
    /// Seconds for which browsers use https only, once they have seen this server by it (Strict-Transport-Security); 0 sends no
    /// such header.
    #[arg(long, env = "HSTS_SECS", hide_env_values = true, default_value_t = 0)]
    pub(crate) hsts_secs: u64,
    /// Whether people may share conversations by links, which show them to whoever has one.
    #[arg(long, env = "SHARING", hide_env_values = true, default_value_t = true, action = ArgAction::Set,
        num_args = 0..=1, default_missing_value = "true", value_parser = BoolishValueParser::new())]
    pub(crate) sharing: bool,
    /// Addresses or networks of proxies that are believed when they say from which address a request comes
    /// (X-Forwarded-For), separated by commas [default: none].
    #[arg(long, env = "TRUSTED_PROXIES", value_delimiter = ',', value_parser = network)]
    pub(crate) trusted_proxies: Vec<IpNet>,
    /// The settings file with the models [default: tallybook.toml in the working folder, if it is there].
    #[arg(long, env = "CONFIG_FILE")]
    pub(crate) config_file: Option<PathBuf>,
    /// Where the data lies: sqlite://FILE or mysql://USER:PASSWORD@HOST/DATABASE.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, default_value = "sqlite://data/tallybook.db")]
    pub(crate) database_url: SecretString,
    /// The model's provider: anthropic, openai, openrouter, ollama or demo [default: by the key that is set, else demo].
    #[arg(long, env = "LLM_PROVIDER", hide_env_values = true)]
    pub(crate) llm_provider: Option<String>,
    /// The provider's key.
    #[arg(long, env = "LLM_API_KEY", hide_env_values = true)]
    pub(crate) llm_api_key: Option<String>,
    /// Anthropic's key; chooses that provider when none is named.
    #[arg(long, env = "ANTHROPIC_API_KEY", hide_env_values = true)]
    pub(crate) anthropic_api_key: Option<String>,
    /// OpenAI's key; chooses that provider when none is named.
    #[arg(long, env = "OPENAI_API_KEY", hide_env_values = true)]
    pub(crate) openai_api_key: Option<String>,
    /// OpenRouter's key; chooses that provider when none is named.
    #[arg(long, env = "OPENROUTER_API_KEY", hide_env_values = true)]
    pub(crate) openrouter_api_key: Option<String>,
    /// The model [default: a mid-size one of the provider's].
    #[arg(long, env = "LLM_MODEL", hide_env_values = true)]
    pub(crate) llm_model: Option<String>,
    /// Another name for LLM_MODEL.
    #[arg(long, env = "LLM_MODEL_NAME", hide_env_values = true)]
    pub(crate) llm_model_name: Option<String>,
    /// The model, if the provider is Anthropic and neither of the two above is set.
    #[arg(long, env = "ANTHROPIC_MODEL", hide_env_values = true)]
    pub(crate) anthropic_model: Option<String>,
    /// The model that writes summaries of long conversations, as `summary_model` in the settings file.
    #[arg(long, env = "SUMMARY_MODEL", hide_env_values = true)]
    pub(crate) summary_model: Option<String>,
    /// Summarizes long conversations.
    #[arg(long, env = "CONVERSATION_SUMMARY_ENABLED", hide_env_values = true, default_value_t = true, action = ArgAction::Set,
        num_args = 0..=1, default_missing_value = "true", value_parser = BoolishValueParser::new())]
    pub(crate) conversation_summary_enabled: bool,
    /// The address of the provider's API [default: its public one].
    #[arg(long, env = "LLM_BASE_URL", hide_env_values = true)]
    pub(crate) llm_base_url: Option<String>,
    /// The sampling temperature, 0 to 2 [default: not sent].
    #[arg(long, env = "LLM_TEMPERATURE", hide_env_values = true, value_parser = temperature)]
    pub(crate) llm_temperature: Option<f64>,
    /// Whether the model writes the titles of conversations, in one short call after the first answer.
    #[arg(long, env = "LLM_TITLES", hide_env_values = true, default_value_t = true, action = ArgAction::Set,
        num_args = 0..=1, default_missing_value = "true", value_parser = BoolishValueParser::new())]
    pub(crate) llm_titles: bool,
    /// The most tokens that one answer may have.
    #[arg(long, env = "LLM_MAX_TOKENS", hide_env_values = true, default_value_t = 4096,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) llm_max_tokens: u32,
    /// How many tokens the model reads and writes at once; what it is told of a conversation is kept within that.
    #[arg(long, env = "LLM_CONTEXT_TOKENS", hide_env_values = true, default_value_t = 128_000,
        value_parser = clap::value_parser!(u32).range(1_000..=10_000_000))]
    pub(crate) llm_context_tokens: u32,
    /// How many seconds the model may be silent between two pieces of an answer.
    #[arg(long, env = "LLM_TIMEOUT_SECS", hide_env_values = true, default_value_t = 60, value_parser = seconds())]
    pub(crate) llm_timeout_secs: u64,
    /// How often a provider that is busy or out of reach is asked again, for each call of the model.
    #[arg(long, env = "LLM_MAX_RETRIES", hide_env_values = true, default_value_t = 3,
        value_parser = clap::value_parser!(u32).range(0..=10))]
    pub(crate) llm_max_retries: u32,
    /// Whether models may search the web; OpenRouter only, which charges for it.
    #[arg(long, env = "LLM_ENABLE_WEB_SEARCH", hide_env_values = true, default_value_t = false, action = ArgAction::Set,
        num_args = 0..=1, default_missing_value = "true", value_parser = BoolishValueParser::new())]
    pub(crate) llm_enable_web_search: bool,
    /// The version of Anthropic's API to ask for [default: 2023-06-01].
    #[arg(long, env = "LLM_ANTHROPIC_VERSION", hide_env_values = true)]
    pub(crate) llm_anthropic_version: Option<String>,
    /// How the model is told of tools: native, prompt, or auto, which is native until the model's server takes none.
    #[arg(long, env = "LLM_TOOL_MODE", hide_env_values = true)]
    pub(crate) llm_tool_mode: Option<String>,
    /// Maximum number of steps of a turn that may call tools [default: what the settings file says, else 10].
    #[arg(long, env = "MAX_TOOL_TURNS", hide_env_values = true, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) max_tool_turns: Option<u32>,
    /// How many seconds a turn may take.
    #[arg(long, env = "TURN_TIMEOUT_SECS", hide_env_values = true, default_value_t = 300, value_parser = seconds())]
    pub(crate) turn_timeout_secs: u64,
    /// How many seconds one tool call may take.
    #[arg(long, env = "TOOL_TIMEOUT_SECS", hide_env_values = true, default_value_t = 30, value_parser = seconds())]
    pub(crate) tool_timeout_secs: u64,
    /// How many answers one person may have written at the same time; 0 for any number [default: 4 where people sign in,
    /// else 0].
    #[arg(long, env = "MAX_TURNS_PER_PERSON", hide_env_values = true)]
    pub(crate) max_turns_per_person: Option<u32>,
    /// Maximum number of messages that one user may send within a minute; 0 for no limit. Other requests that call a model count,
    /// too; background tasks of API clients count a quarter each [default: 30 if users sign in, else 0].
    #[arg(long, env = "MAX_MESSAGES_PER_MINUTE", hide_env_values = true)]
    pub(crate) max_messages_per_minute: Option<u32>,
    /// Maximum number of tokens that models may read and write for one user within 24 hours; 0 for no limit [default: 5000000 if
    /// users sign in, else 0].
    #[arg(long, env = "MAX_TOKENS_PER_DAY", hide_env_values = true)]
    pub(crate) max_tokens_per_day: Option<u64>,
    /// A text file with your own system prompt [default: the built-in one].
    #[arg(long, env = "SYSTEM_PROMPT_FILE", hide_env_values = true)]
    pub(crate) system_prompt_file: Option<PathBuf>,
    /// Offers models the tool fetch_page, which reads pages of the public web. Each call needs approval unless its host is among
    /// FETCH_PAGE_HOSTS.
    #[arg(long, env = "FETCH_PAGE", hide_env_values = true, default_value_t = false, action = ArgAction::Set,
        num_args = 0..=1, default_missing_value = "true", value_parser = BoolishValueParser::new())]
    pub(crate) fetch_page: bool,
    /// Comma-separated hosts whose pages models may read without approval; *.example.org stands for all hosts below example.org
    /// [default: none].
    #[arg(long, env = "FETCH_PAGE_HOSTS", hide_env_values = true, value_delimiter = ',')]
    pub(crate) fetch_page_hosts: Vec<AllowedHost>,
    /// A JSON file that names tool servers (MCP) [default: .mcp_servers, where it is there].
    #[arg(long, env = "MCP_SERVERS_FILE", hide_env_values = true)]
    pub(crate) mcp_servers_file: Option<PathBuf>,
    /// Where tokens for tool servers come from; MCP_OAUTH_CLIENT_ID and MCP_OAUTH_CLIENT_SECRET say for whom.
    #[arg(long, env = "MCP_OAUTH_TOKEN_URL", hide_env_values = true)]
    pub(crate) mcp_oauth_token_url: Option<String>,
    /// What those tokens are for, as their endpoint names it.
    #[arg(long, env = "MCP_OAUTH_SCOPE", hide_env_values = true)]
    pub(crate) mcp_oauth_scope: Option<String>,
    /// Where traces of turns are sent by OTLP over HTTP, such as http://localhost:4318 [default: nowhere].
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT", hide_env_values = true)]
    pub(crate) otel_exporter_otlp_endpoint: Option<String>,
    /// How the log is written: as text, or as JSON, an object a line.
    #[arg(long, env = "LOG_FORMAT", value_enum, default_value_t, ignore_case = true)]
    pub(crate) log_format: LogFormat,
    /// How many hours a tool call waits for consent before it is refused; 0 for ever [default: what the settings file says,
    /// else 0].
    #[arg(long, env = "CONSENT_WAIT_HOURS", hide_env_values = true, value_parser = wait_hours)]
    pub(crate) consent_wait_hours: Option<f64>,
    /// How many seconds a program's answer waits for a person's consent to a tool call, before it ends and says where it goes
    /// on.
    #[arg(long, env = "APPROVAL_WAIT_SECS", hide_env_values = true, default_value_t = 300,
        value_parser = clap::value_parser!(u64).range(0..=86_400))]
    pub(crate) approval_wait_secs: u64,
    /// How many milliseconds the demo model pauses between two words.
    #[arg(long, env = "DEMO_PACE_MS", hide_env_values = true, default_value_t = 20,
        value_parser = clap::value_parser!(u64).range(0..=1000))]
    pub(crate) demo_pace_ms: u64,
    /// How many seconds an event stream may be silent before a sign of life is sent.
    #[arg(long, env = "KEEP_ALIVE_SECS", hide_env_values = true, default_value_t = 5,
        value_parser = clap::value_parser!(u64).range(1..=30))]
    pub(crate) keep_alive_secs: u64,
    /// How many days the events of a finished turn are kept for playback; 0 keeps them for ever.
    #[arg(long, env = "JOURNAL_RETENTION_DAYS", hide_env_values = true, default_value_t = 30,
        value_parser = clap::value_parser!(u64).range(0..=36_500))]
    pub(crate) journal_retention_days: u64,
    /// How many days what people delete stays in the book that admins read, before it is purged; 0 purges it at once.
    #[arg(long, env = "RETENTION_DAYS", hide_env_values = true, default_value_t = 30,
        value_parser = clap::value_parser!(u64).range(0..=36_500))]
    pub(crate) retention_days: u64,
    /// How many seconds a server may be silent before another one takes its turns for abandoned.
    #[arg(long, env = "TURN_LEASE_SECS", hide_env_values = true, default_value_t = 20, value_parser = seconds())]
    pub(crate) turn_lease_secs: u64,
    /// How many seconds running turns may go on when the server is asked to stop.
    #[arg(long, env = "SHUTDOWN_GRACE_SECS", hide_env_values = true, default_value_t = 20, value_parser = seconds())]
    pub(crate) shutdown_grace_secs: u64,
}

/// Format of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people: a line of text an entry.
    #[default]
    Text,
    /// For programs: a JSON object a line.
    Json,
}

/// What the program is asked to do.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum Task {
    /// Reads the settings, says what they mean or what is wrong with them, and ends.
    CheckConfig,
    /// Prints the licenses of all that the program and its page are made of.
    Licenses,
    /// Looks after the server's data, and ends.
    #[command(subcommand)]
    Admin(AdminTask),
}

/// What is to be done to the server's data.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum AdminTask {
    /// Makes an admin's account, with a password that is asked for.
    Create {
        /// What the admin signs in with.
        name: String,
        /// Reads the password from the standard input, up to the end of its first line.
        #[arg(long)]
        password_stdin: bool,
    },
    /// Lists the accounts: name, role, when it was made, and since when it is deactivated.
    Users,
    /// Gives an account another password, which is asked for; it is signed out everywhere.
    Password {
        /// What somebody signs in with.
        name: String,
        /// Reads the password from the standard input, up to the end of its first line.
        #[arg(long)]
        password_stdin: bool,
        /// Revokes the account's API keys, too.
        #[arg(long)]
        revoke_keys: bool,
    },
    /// Writes a copy of the embedded database to a file, also while the server runs.
    Backup {
        /// A file that is not there yet.
        file: PathBuf,
    },
    /// Puts a copy in the place of the embedded database, while no server runs; what was there is kept beside it.
    Restore {
        /// A file that `backup` has written.
        file: PathBuf,
    },
    /// Checks that what the database holds fits together; fails when it does not.
    Check,
    /// Lists the keys of programs: id, whose, how each begins, its name, and when it was made and last used.
    Keys {
        /// Revokes the key with this id, for good.
        #[arg(long, value_name = "ID")]
        revoke: Option<i64>,
    },
    /// Says what of deleted conversations is kept, and what is due to be purged.
    Retention {
        /// Purges what is due now.
        #[arg(long)]
        purge: bool,
    },
}

impl Options {
    /// Reads the command line and the environment.
    pub(crate) fn read() -> Result<Self, clap::Error> {
        Self::from_arg_matches(&Self::command().mut_args(without_blank_variable).try_get_matches()?)
    }
}

/// Returns the names of the environment variables of options.
pub(crate) fn variables() -> Vec<String> {
    let variable = |arg: &Arg| arg.get_env().map(|name| name.to_string_lossy().into_owned());
    Options::command().get_arguments().filter_map(variable).collect()
}

/// Makes an option ignore its variable if the variable is blank, as compose files and `.env` files set it. Otherwise
/// clap would treat the blank as a value, and an invalid one.
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
        .map_err(|_| "write an address or a network, as in 192.0.2.1 or 10.0.0.0/8".to_owned())
}

/// Returns the trimmed value; `None` if it is blank.
pub(crate) fn set(value: Option<String>) -> Option<String> {
    value.map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

fn seconds() -> impl TypedValueParser<Value = u64> {
    clap::value_parser!(u64).range(1..=86_400)
}

/// Maximum of `wait_hours`. Ten years are as good as any longer time.
const MAX_WAIT_HOURS: f64 = 87_600.0;

/// Returns the number of hours if it is in range, or else a sentence that says what is wrong with it.
pub(crate) fn check_wait_hours(hours: f64) -> Result<f64, String> {
    let fits = (0.0..=MAX_WAIT_HOURS).contains(&hours);
    if fits { Ok(hours) } else { Err("must be a number of hours from 0 to 87600; 0 waits for ever".to_owned()) }
}

fn wait_hours(text: &str) -> Result<f64, String> {
    let hours = text.trim().parse().map_err(|_| "CONSENT_WAIT_HOURS must be a number of hours".to_owned())?;
    check_wait_hours(hours).map_err(|problem| format!("CONSENT_WAIT_HOURS {problem}"))
}

/// Parses a temperature. It is checked here too, because no other check covers the settings of the demo model.
fn temperature(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok().filter(|number| (0.0..=2.0).contains(number));
    number.ok_or_else(|| "LLM_TEMPERATURE must be a number from 0 to 2".to_owned())
}
