//! Settings of tool servers, as an operator writes them: plain data, not yet checked and with variables not yet
//! expanded. The same structs are read from a settings file and created from [`super::servers_file`].

use std::collections::BTreeMap;

use serde::Deserialize;
use url::Url;

/// One tool server: `[tool_servers.NAME]` of the settings file. It has a `url` or a `command`.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ToolServerSettings {
    /// URL of a server that speaks Streamable HTTP.
    pub url: Option<String>,
    /// Headers sent with every request to `url`.
    pub headers: BTreeMap<String, String>,
    /// True if `url` may use plain HTTP to hosts other than localhost.
    pub allow_http: bool,
    /// True if requests carry a token obtained with OAuth client credentials.
    pub requires_auth: bool,
    /// Source of its tokens. Default: the common source of all servers.
    pub oauth: Option<OAuthSettings>,
    /// Program of a server that communicates over its standard input and output.
    pub command: Option<String>,
    /// Arguments of the program.
    pub args: Vec<String>,
    /// Environment variables of the program, in addition to `PATH`, `HOME` and `LANG`.
    pub env: BTreeMap<String, String>,
    /// Which of its calls need approval.
    pub risk: RiskSetting,
    /// Tools to make available; `*` matches any characters. If empty, all tools are made available.
    pub include: Vec<String>,
    /// Tools to leave out, as in `include`.
    pub exclude: Vec<String>,
    /// Timeout of a call in seconds, if it is shorter than the timeout of every tool.
    pub timeout_secs: Option<u64>,
    /// Action when a tool's definition changes.
    pub pin: Pin,
    /// Reason why the server cannot be used, if its entry is not readable or names an unsupported transport.
    #[serde(skip)]
    pub unusable: Option<String>,
}

/// Which calls of a server need a user's approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RiskSetting {
    /// All calls.
    #[default]
    High,
    /// No calls.
    Low,
    /// Calls of tools that the server does not mark as read-only. Tallybook does not verify what a server claims.
    Claimed,
}

impl RiskSetting {
    /// Returns the value of the setting.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Low => "low",
            Self::Claimed => "claimed",
        }
    }
}

/// Action when the definition of a tool changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pin {
    /// The change is logged, the tool's calls need approval, and its annotations are no longer trusted.
    #[default]
    Warn,
    /// The tool is no longer available.
    Block,
}

impl Pin {
    /// Returns the value of the setting.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Warn => "warn",
            Self::Block => "block",
        }
    }
}

/// Source of tokens that are obtained with OAuth client credentials. Secrets are only in environment variables.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OAuthSettings {
    /// URL of the token endpoint.
    pub token_url: String,
    /// Environment variable that contains the client ID.
    pub client_id_env: String,
    /// Environment variable that contains the client secret.
    pub client_secret_env: String,
    /// Scope to request, if any.
    #[serde(default)]
    pub scope: Option<String>,
}

/// All tool servers, in the order in which they are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolServersSettings {
    /// Servers with their names.
    pub servers: Vec<(String, ToolServerSettings)>,
    /// Source of the tokens of servers that have no source of their own.
    pub oauth: Option<OAuthSettings>,
}

/// Maximum length of a server's name, in characters. The names of its tools contain it completely, even if they are
/// truncated.
const MAX_NAME_CHARS: usize = 50;

/// Reason why a server's name cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServerNameError {
    /// Two servers share the name.
    #[error("two tool servers are named {0:?}; rename one of them")]
    Twice(String),
    /// The name is empty, too long, or not on one line.
    #[error("a tool server's name must have 1 to {MAX_NAME_CHARS} characters on one line")]
    Bad,
}

impl ToolServerSettings {
    /// Returns the values of the server's own keys in which variables are expanded, except those of `oauth`.
    pub(crate) fn values(&self) -> impl Iterator<Item = &String> {
        let named = self.headers.values().chain(self.env.values());
        self.url.iter().chain(&self.command).chain(&self.args).chain(named)
    }

    /// Returns the URL as it is written, but without a user name, a password, a query and a fragment, which may be
    /// secrets. Returns an empty text for a program.
    pub fn shown_url(&self) -> String {
        let url = self.url.as_deref().unwrap_or_default();
        let url = url.split(['?', '#']).next().unwrap_or_default();
        let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let host = authority.rsplit('@').next().unwrap_or_default();
        format!("{scheme}://{host}{path}")
    }

    /// Returns a key that has no effect in combination with the others, or `None` if there is none.
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
    /// Appends other servers. Fails if a name occurs in both. The token source of `self` takes precedence.
    pub fn and(mut self, others: Self) -> Result<Self, ServerNameError> {
        for (name, server) in others.servers {
            self.add(name, server)?;
        }
        self.oauth = self.oauth.or(others.oauth);
        Ok(self)
    }

    /// Adds a server. Fails if its name is not valid or already exists.
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
    /// Writes what the server is and which of its calls need approval, on one line and without anything that may be a
    /// secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.url, &self.command) {
            (Some(url), _) => match Url::parse(url) {
                // The rest of a URL may be a secret.
                Ok(url) => write!(f, "{}", url.origin().ascii_serialization())?,
                Err(_) => f.write_str("a URL with variables")?,
            },
            (None, Some(command)) => write!(f, "the program {command}")?,
            (None, None) => f.write_str("nothing")?,
        }
        if self.requires_auth {
            f.write_str(", with a token")?;
        }
        f.write_str(match self.risk {
            RiskSetting::High => ", every call needs approval",
            RiskSetting::Low => ", no call needs approval",
            RiskSetting::Claimed => ", every call needs approval, except of tools that it marks read-only",
        })?;
        f.write_str(match self.pin {
            Pin::Warn => "",
            Pin::Block => ", changed tools are withheld",
        })
    }
}

impl std::fmt::Debug for ToolServerSettings {
    /// Omits the URL, headers, arguments and environment, which may contain secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolServerSettings")
            .field("command", &self.command)
            .field("risk", &self.risk)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::ToolServerSettings;

    #[test]
    fn a_url_is_shown_without_secrets() {
        for (url, shown) in [
            ("https://a.example/mcp", "https://a.example/mcp"),
            ("https://me:5up3r@a.example:8/mcp/@x?key=5up3r#5up3r", "https://a.example:8/mcp/@x"),
            ("https://5up3r@a.example?key=5up3r", "https://a.example"),
            ("https://${HOST}/${TOKEN}/mcp?${KEY}", "https://${HOST}/${TOKEN}/mcp"),
            ("${URL}?key=5up3r", "${URL}"),
        ] {
            let settings = ToolServerSettings { url: Some(url.to_owned()), ..ToolServerSettings::default() };
            assert_eq!(settings.shown_url(), shown, "{url}");
        }
        assert_eq!(ToolServerSettings::default().shown_url(), "");
    }
}
