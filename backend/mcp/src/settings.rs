//! Which tool servers there are, as an operator writes them: plain data, not yet checked and with its variables not yet
//! in place. The same struct is read from a settings file and made from [`super::servers_file`].

use std::collections::BTreeMap;

use serde::Deserialize;
use url::Url;

/// One tool server: `[tool_servers.NAME]` of the settings file. It has a `url` or a `command`.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ToolServerSettings {
    /// The address of a server that speaks Streamable HTTP.
    pub url: Option<String>,
    /// Headers sent with every request to `url`.
    pub headers: BTreeMap<String, String>,
    /// Whether `url` may be plain http to another machine.
    pub allow_http: bool,
    /// Whether requests carry a token by OAuth client credentials.
    pub requires_auth: bool,
    /// Where its tokens come from; otherwise where all servers' tokens come from.
    pub oauth: Option<OAuthSettings>,
    /// The program of a server that speaks over its standard input and output.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment, beside `PATH`, `HOME` and `LANG`.
    pub env: BTreeMap<String, String>,
    /// Which of its tools need consent.
    pub risk: RiskSetting,
    /// The tools that are offered, with `*` for any characters; all when there is none.
    pub include: Vec<String>,
    /// The tools that are not offered.
    pub exclude: Vec<String>,
    /// Seconds that a call may take, where that is less than any tool may.
    pub timeout_secs: Option<u64>,
    /// What happens when a tool's definition changes.
    pub pin: Pin,
    /// Why nothing of it can be used, where it was written in a way that says nothing else.
    #[serde(skip)]
    pub unusable: Option<String>,
}

/// Which calls of a server need a person's consent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RiskSetting {
    /// All.
    #[default]
    High,
    /// None.
    Low,
    /// Those of tools that the server does not call read-only. What a server claims nobody checks.
    Claimed,
}

/// What happens when the definition of a tool changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pin {
    /// It is logged, and what the tool claims counts no longer.
    #[default]
    Warn,
    /// The tool is not offered any more.
    Block,
}

/// Where tokens by OAuth client credentials come from. Secrets stand in environment variables only.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OAuthSettings {
    /// The address of the token endpoint.
    pub token_url: String,
    /// The variable that holds the client's id.
    pub client_id_env: String,
    /// The variable that holds its secret.
    pub client_secret_env: String,
    /// What the token is for, as the token endpoint names it.
    #[serde(default)]
    pub scope: Option<String>,
}

/// All tool servers, in the order in which they are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolServersSettings {
    /// Each with its name.
    pub servers: Vec<(String, ToolServerSettings)>,
    /// Where the tokens come from of servers that name nothing of their own.
    pub oauth: Option<OAuthSettings>,
}

/// The longest name of a server: all of it stands in the names of its tools, also in those that are cut.
const MAX_NAME_CHARS: usize = 50;

/// A server's name is not to be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServerNameError {
    /// Two servers share it.
    #[error("there are two tool servers named {0:?}; give one of them another name")]
    Twice(String),
    /// It is empty, long, or not on one line.
    #[error("a tool server's name is 1 to {MAX_NAME_CHARS} characters on one line")]
    Bad,
}

impl ToolServerSettings {
    /// All that variables may stand in.
    pub(super) fn values(&self) -> impl Iterator<Item = &String> {
        let named = self.headers.values().chain(self.env.values());
        self.url.iter().chain(&self.command).chain(&self.args).chain(named)
    }

    /// A key that says nothing beside the others.
    pub fn idle_key(&self) -> Option<&'static str> {
        let of_a_program = [("args", !self.args.is_empty()), ("env", !self.env.is_empty())];
        let of_an_address = [
            ("headers", !self.headers.is_empty()),
            ("allow_http", self.allow_http),
            ("requires_auth", self.requires_auth),
            ("oauth", self.oauth.is_some()),
        ];
        let without_token = [("oauth", self.oauth.is_some() && !self.requires_auth)];
        let program = of_a_program.iter().filter(|_| self.command.is_none());
        let address = of_an_address.iter().filter(|_| self.url.is_none());
        program.chain(address).chain(&without_token).find(|(_, is_set)| *is_set).map(|(key, _)| *key)
    }
}

impl ToolServersSettings {
    /// These servers and then those; no name may occur in both.
    pub fn and(mut self, others: Self) -> Result<Self, ServerNameError> {
        for (name, server) in others.servers {
            self.add(name, server)?;
        }
        self.oauth = self.oauth.or(others.oauth);
        Ok(self)
    }

    /// One more server.
    pub fn add(&mut self, name: String, server: ToolServerSettings) -> Result<(), ServerNameError> {
        if !(1..=MAX_NAME_CHARS).contains(&name.chars().count()) || name.chars().any(char::is_control) {
            return Err(ServerNameError::Bad);
        }
        if self.servers.iter().any(|(known, _)| *known == name) {
            return Err(ServerNameError::Twice(name));
        }
        self.servers.push((name, server));
        Ok(())
    }
}

impl std::fmt::Display for ToolServerSettings {
    /// What it is and which of its calls need consent, on one line, without anything that may be a secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.url, &self.command) {
            (Some(url), _) => match Url::parse(url) {
                // The rest of an address may be a secret.
                Ok(url) => write!(f, "{}", url.origin().ascii_serialization())?,
                Err(_) => f.write_str("an address that holds variables")?,
            },
            (None, Some(command)) => write!(f, "the program {command}")?,
            (None, None) => f.write_str("nothing")?,
        }
        if self.requires_auth {
            f.write_str(", with a token")?;
        }
        f.write_str(match self.risk {
            RiskSetting::High => ", every call needs consent",
            RiskSetting::Low => ", no call needs consent",
            RiskSetting::Claimed => ", calls need consent but for those of tools that it calls read-only",
        })?;
        f.write_str(match self.pin {
            Pin::Warn => "",
            Pin::Block => ", tools that change are withheld",
        })
    }
}

impl std::fmt::Debug for ToolServerSettings {
    /// Without headers, arguments and environment, which may hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolServerSettings")
            .field("command", &self.command)
            .field("risk", &self.risk)
            .finish_non_exhaustive()
    }
}
