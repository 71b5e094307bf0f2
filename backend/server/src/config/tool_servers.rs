//! Combines the tool servers in the settings file with those in `.mcp_servers`.

use std::{io::ErrorKind, path::Path};

use tallybook_mcp::{
    OAuthSettings, ServerNameError, SettingsError, ToolServerSettings, ToolServersSettings, check, read_servers_file,
};
use toml::Spanned;

use super::{
    error::{ConfigError, bad},
    file::{SettingsFile, is_variable},
};
use crate::config::cli::{Options, set};

/// Path of the servers file if none is named.
const DEFAULT_FILE: &str = ".mcp_servers";

/// Variables with the client ID and the client secret, used if `MCP_OAUTH_TOKEN_URL` is set.
const CLIENT_ID: &str = "MCP_OAUTH_CLIENT_ID";
const CLIENT_SECRET: &str = "MCP_OAUTH_CLIENT_SECRET";

/// Maximum timeout of a call, in seconds.
const MAX_TIMEOUT_SECS: u64 = 86_400;

/// Returns all tool servers, first those of the settings file. If the environment sets a token URL, the `[oauth]`
/// section of the file is ignored.
pub(crate) fn tool_servers(options: &Options, file: Option<&SettingsFile>) -> Result<ToolServersSettings, ConfigError> {
    let mut all = ToolServersSettings { oauth: oauth_of_environment(options), ..ToolServersSettings::default() };
    if let Some((file, oauth)) = file.and_then(|file| Some((file, file.oauth()?))) {
        check_oauth(file, oauth, &["oauth"])?;
        all.oauth.get_or_insert_with(|| oauth.clone());
    }
    let path = options.mcp_servers_file.as_deref().filter(|path| !path.as_os_str().is_empty());
    let others = others(path)?;
    let mut sections: Vec<_> = file.map(|file| file.tool_servers().iter().collect()).unwrap_or_default();
    sections.sort_by_key(|(name, _)| name.span().start);
    for (name, settings) in sections {
        let Some(file) = file else { continue };
        let server = Section { file, name, settings };
        server.check(all.oauth.as_ref())?;
        let is_elsewhere = others.servers.iter().any(|(other, _)| other == name.get_ref());
        if is_elsewhere {
            let twice = ServerNameError::Twice(name.get_ref().clone());
            let path = path.unwrap_or(Path::new(DEFAULT_FILE)).display();
            return Err(file.bad(name, format!("{twice}. The other server is in {path}.")));
        }
        all.add(name.get_ref().clone(), settings.clone()).map_err(|error| file.bad(name, format!("{error}.")))?;
    }
    all.and(others).map_err(|error| bad("MCP_SERVERS_FILE", error))
}

fn oauth_of_environment(options: &Options) -> Option<OAuthSettings> {
    Some(OAuthSettings {
        token_url: set(options.mcp_oauth_token_url.clone())?,
        client_id_env: CLIENT_ID.to_owned(),
        client_secret_env: CLIENT_SECRET.to_owned(),
        scope: set(options.mcp_oauth_scope.clone()),
    })
}

/// Returns the servers of the named file, or of the default one if it exists.
fn others(named: Option<&Path>) -> Result<ToolServersSettings, ConfigError> {
    let path = named.unwrap_or(Path::new(DEFAULT_FILE));
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound && named.is_none() => {
            return Ok(ToolServersSettings::default());
        }
        Err(source) => return Err(ConfigError::Unreadable { path: path.to_owned(), source }),
    };
    read_servers_file(&text).map_err(|error| ConfigError::File {
        path: path.to_owned(),
        line: error.line,
        problem: error.to_string(),
    })
}

/// A section `[tool_servers.NAME]`.
struct Section<'a> {
    file: &'a SettingsFile,
    name: &'a Spanned<String>,
    settings: &'a ToolServerSettings,
}

impl Section<'_> {
    /// Checks the section. Unset variables are not reported here: they only make this tool server fail when it is
    /// started.
    fn check(&self, oauth: Option<&OAuthSettings>) -> Result<(), ConfigError> {
        let settings = self.settings;
        if let Some(key) = settings.idle_key() {
            return Err(self.bad(&[key], &format!("{key} has no effect here. Remove it.")));
        }
        if settings.timeout_secs.is_some_and(|seconds| !(1..=MAX_TIMEOUT_SECS).contains(&seconds)) {
            return Err(self.bad(&["timeout_secs"], &format!("timeout_secs must be from 1 to {MAX_TIMEOUT_SECS}.")));
        }
        for (key, values) in [("headers", &settings.headers), ("env", &settings.env)] {
            if let Some(name) = values.iter().find(|(name, value)| is_open_secret(name, value)).map(|(name, _)| name) {
                let problem = format!("this file must not contain secrets. Set {name} to \"${{NAME_OF_A_VARIABLE}}\".");
                return Err(self.bad(&[key, name], &problem));
            }
        }
        if let Some(own) = &settings.oauth {
            check_oauth(self.file, own, &["tool_servers", self.name.get_ref(), "oauth"])?;
        }
        match check(settings, oauth, |name| std::env::var(name).ok()) {
            Ok(()) | Err(SettingsError::Unset(_)) => Ok(()),
            Err(SettingsError::Wrong { key, problem }) => Err(self.bad(key, &format!("{problem}."))),
        }
    }

    /// Builds an error about a key of the section, or about the whole section if it lacks the key.
    fn bad(&self, key: &[&str], problem: &str) -> ConfigError {
        let problem = format!("the tool server {:?} cannot be used: {problem}", self.name.get_ref());
        let path: Vec<&str> = ["tool_servers", self.name.get_ref()].into_iter().chain(key.iter().copied()).collect();
        self.file.bad_at(&self.file.span_of(&path).unwrap_or_else(|| self.name.span()), &problem)
    }
}

/// Checks that the table at `path` has names of variables, not the secrets themselves.
fn check_oauth(file: &SettingsFile, oauth: &OAuthSettings, path: &[&str]) -> Result<(), ConfigError> {
    for (key, name) in [("client_id_env", &oauth.client_id_env), ("client_secret_env", &oauth.client_secret_env)] {
        if !is_variable(name) {
            let span = file.span_of(&[path, &[key]].concat()).unwrap_or_default();
            let problem = format!("{key} must be the name of an environment variable, not its value.");
            return Err(file.bad_at(&span, &problem));
        }
    }
    Ok(())
}

/// Returns `true` if the name is that of a secret and the value is the secret itself, not a reference to a variable.
fn is_open_secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let words = ["authorization", "cookie", "key", "password", "secret", "token"];
    words.iter().any(|word| name.contains(word)) && !value.contains("${")
}
