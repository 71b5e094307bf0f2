//! Checks the settings of one server, expands their variables, and creates the server's endpoint. An endpoint contains
//! secrets, so its types implement neither `Debug` nor `Display`.

use std::{collections::HashMap, time::Duration};

use reqwest::header::{HeaderName, HeaderValue};
use secrecy::SecretString;
use tallybook_http_client::{is_link_local, is_loopback};
use url::Url;

use super::{
    settings::{OAuthSettings, ToolServerSettings},
    variables::{UnsetVariable, expanded},
};

/// Reason why the settings of a server cannot be used. It affects only that server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// A variable is not set. The settings themselves may be correct.
    #[error(transparent)]
    Unset(#[from] UnsetVariable),
    /// A setting is missing or wrong. The message says what to do and contains no secret.
    #[error("{problem}")]
    Wrong {
        /// Path of the key at fault, within the server's table. Empty if no single key is at fault.
        key: &'static [&'static str],
        /// Description of the problem.
        problem: String,
    },
}

fn wrong<T>(key: &'static [&'static str], problem: impl Into<String>) -> Result<T, SettingsError> {
    Err(SettingsError::Wrong { key, problem: problem.into() })
}

/// Checks the settings of one server in the same way as [`ToolServers::start`](super::ToolServers::start). `oauth` is
/// the token source of servers that have none of their own. `find` returns the value of an environment variable.
pub fn check(
    settings: &ToolServerSettings,
    oauth: Option<&OAuthSettings>,
    find: impl Fn(&str) -> Option<String>,
) -> Result<(), SettingsError> {
    Endpoint::of(settings, oauth, &find).map(drop)
}

/// A server to connect to.
pub(crate) enum Endpoint {
    Http(Box<HttpEndpoint>),
    Program(Program),
}

pub(crate) struct HttpEndpoint {
    pub(crate) url: Url,
    pub(crate) headers: HashMap<HeaderName, HeaderValue>,
    pub(crate) credentials: Option<Credentials>,
}

/// A server that runs as a program. `env` is its complete environment, and includes `PATH`, `HOME` and `LANG` if they
/// are set.
pub(crate) struct Program {
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
}

/// Token endpoint, and the client credentials that it accepts.
pub(crate) struct Credentials {
    pub(crate) token_url: Url,
    pub(crate) client_id: String,
    pub(crate) client_secret: SecretString,
    pub(crate) scope: Option<String>,
}

impl Endpoint {
    /// Checks the settings of one server and expands their variables. `find` returns the value of an environment
    /// variable.
    pub(crate) fn of(
        settings: &ToolServerSettings,
        oauth: Option<&OAuthSettings>,
        find: &impl Fn(&str) -> Option<String>,
    ) -> Result<Self, SettingsError> {
        if let Some(problem) = &settings.unusable {
            return wrong(&[], problem.clone());
        }
        match (&settings.url, &settings.command) {
            (Some(_), Some(_)) => wrong(&["command"], "it has both a url and a command; keep one of them"),
            (None, None) => wrong(&[], "it has neither a url nor a command"),
            (Some(url), None) => {
                let url = checked_url(&["url"], &expanded(url, find)?, settings.allow_http)?;
                let headers = headers(settings, find)?;
                let credentials = match (settings.requires_auth, &settings.oauth, oauth) {
                    (false, _, _) => None,
                    (true, Some(own), _) => {
                        Some(Credentials::of(own, &["oauth", "token_url"], settings.allow_http, find)?)
                    }
                    (true, None, Some(common)) => {
                        Some(Credentials::of(common, &["requires_auth"], settings.allow_http, find)?)
                    }
                    (true, None, None) => {
                        let problem = "it requires a token, but no token endpoint is set; set oauth";
                        return wrong(&["requires_auth"], problem);
                    }
                };
                Ok(Self::Http(Box::new(HttpEndpoint { url, headers, credentials })))
            }
            (None, Some(command)) => {
                let expand = |value: &String| expanded(value, find);
                let command = expand(command)?;
                if command.trim().is_empty() {
                    return wrong(&["command"], "its command is empty");
                }
                let args = settings.args.iter().map(expand).collect::<Result<_, _>>()?;
                let mut env: Vec<(String, String)> = ["PATH", "HOME", "LANG"]
                    .iter()
                    .filter_map(|name| Some(((*name).to_owned(), find(name)?)))
                    .collect();
                for (name, value) in &settings.env {
                    if name.is_empty() || name.contains(['=', '\0']) {
                        return wrong(&["env"], format!("{name:?} is not a valid name of an environment variable"));
                    }
                    env.retain(|(known, _)| known != name);
                    env.push((name.clone(), expand(value)?));
                }
                Ok(Self::Program(Program { command, args, env }))
            }
        }
    }
}

impl Credentials {
    fn of(
        oauth: &OAuthSettings,
        key: &'static [&'static str],
        allow_http: bool,
        find: &impl Fn(&str) -> Option<String>,
    ) -> Result<Self, SettingsError> {
        let held = |key: &'static str, name: &str| {
            find(name).filter(|value| !value.is_empty()).ok_or_else(|| UnsetVariable::named_by(key))
        };
        Ok(Self {
            token_url: checked_url(key, &expanded(&oauth.token_url, find)?, allow_http)?,
            client_id: held("client_id_env", &oauth.client_id_env)?,
            client_secret: held("client_secret_env", &oauth.client_secret_env)?.into(),
            scope: oauth.scope.clone(),
        })
    }
}

fn headers(
    settings: &ToolServerSettings,
    find: &impl Fn(&str) -> Option<String>,
) -> Result<HashMap<HeaderName, HeaderValue>, SettingsError> {
    let mut headers = HashMap::new();
    for (name, value) in &settings.headers {
        let parsed = HeaderName::try_from(name.as_str()).ok();
        let Some(header) = parsed.filter(|header| !is_reserved(header)) else {
            return wrong(
                &["headers"],
                format!("{name:?} is not a valid header name, or is reserved for the protocol"),
            );
        };
        let Ok(mut value) = HeaderValue::try_from(expanded(value, find)?) else {
            return wrong(
                &["headers"],
                format!("the value of the header {name:?} has characters that are not allowed in a header"),
            );
        };
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    Ok(headers)
}

/// Returns `true` for headers that belong to the protocol.
fn is_reserved(header: &HeaderName) -> bool {
    let header = header.as_str();
    matches!(header, "accept" | "content-type" | "content-length" | "host" | "last-event-id" | "transfer-encoding")
        || header.starts_with("mcp-")
}

/// Parses and checks the URL of a server or token endpoint. It must use HTTPS; plain HTTP is allowed to localhost and
/// with `allow_http`. Link-local addresses are refused, because cloud platforms serve the credentials of their machines
/// there.
fn checked_url(key: &'static [&'static str], given: &str, allow_http: bool) -> Result<Url, SettingsError> {
    // A problem with the common token source is reported at `requires_auth`, because the server's table has no key for
    // its URL.
    let its = if key == ["url"] { "url" } else { "token_url" };
    let Ok(url) = Url::parse(given) else { return wrong(key, format!("its {its} is not a valid URL")) };
    if !url.username().is_empty() || url.password().is_some() {
        return wrong(key, format!("its {its} must not contain a user name or password; use headers"));
    }
    match url.scheme() {
        "https" => {}
        "http" if allow_http || is_loopback(&url) => {}
        "http" => return wrong(key, format!("its {its} must use https; to allow plain http, set allow_http")),
        _ => return wrong(key, format!("its {its} must begin with https://")),
    }
    if is_link_local(&url) {
        return wrong(key, format!("its {its} is a link-local address, which is not allowed"));
    }
    Ok(url)
}

/// Returns the timeout of one call, at most a day, or `None` if the settings have none.
pub(crate) fn call_timeout(settings: &ToolServerSettings) -> Option<Duration> {
    settings.timeout_secs.map(|seconds| Duration::from_secs(seconds.clamp(1, 86_400)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(settings: &ToolServerSettings) -> String {
        let find = |name: &str| (name == "SET").then(|| "held".to_owned());
        Endpoint::of(settings, None, &find).err().map(|error| error.to_string()).unwrap_or_default()
    }

    fn with_url(url: &str) -> ToolServerSettings {
        ToolServerSettings { url: Some(url.to_owned()), ..ToolServerSettings::default() }
    }

    #[test]
    fn addresses_are_checked() {
        for good in ["https://example.com/mcp", "http://127.0.0.1:1/mcp", "http://[::1]/mcp", "http://localhost/mcp"] {
            assert_eq!(refused(&with_url(good)), "", "{good}");
        }
        assert_eq!(refused(&ToolServerSettings { allow_http: true, ..with_url("http://tools.internal/mcp") }), "");
        assert!(refused(&with_url("http://example.com/mcp")).contains("must use https"));
        assert!(refused(&with_url("https://me:word@example.com/mcp")).contains("user name"));
        assert!(refused(&with_url("https://169.254.169.254/mcp")).contains("link-local"));
        assert!(refused(&with_url("https://[::ffff:169.254.169.254]/mcp")).contains("link-local"));
        assert!(refused(&with_url("file:///etc/passwd")).contains("https://"));
    }

    #[test]
    fn an_unset_variable_fails_that_server_with_a_message() {
        assert_eq!(refused(&with_url("https://${NONE}/mcp")), "the environment variable NONE is not set");
        assert_eq!(refused(&with_url("https://${SET}/mcp")), "");
        let auth = ToolServerSettings { requires_auth: true, ..with_url("https://a/mcp") };
        assert!(refused(&auth).contains("no token endpoint is set"));
        assert!(refused(&ToolServerSettings::default()).contains("neither"));
    }
}
