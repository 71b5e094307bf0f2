//! Finds the secrets in the settings of tool servers, by their names and their positions.

use percent_encoding::percent_decode_str;
use url::Url;

use super::{
    settings::{ToolServerSettings, ToolServersSettings},
    variables::{expanded, variables_in},
};

impl ToolServersSettings {
    /// Returns the values to redact in the output of tools and in the log:
    ///
    /// - Values of headers, environment variables, arguments and URL parameters that have the name of a secret, such as
    ///   `key`.
    /// - Values of environment variables with such a name, wherever a setting refers to them.
    /// - Passwords in URLs.
    /// - OAuth client secrets.
    ///
    /// `find` returns the value of an environment variable. A variable that is not set has no secret.
    pub fn secrets(&self, find: &impl Fn(&str) -> Option<String>) -> Vec<String> {
        let servers = || self.servers.iter().map(|(_, server)| server);
        let token_sources = || servers().filter_map(|server| server.oauth.as_ref()).chain(&self.oauth);
        let clients = token_sources().filter_map(|oauth| find(&oauth.client_secret_env));
        let named = servers().flat_map(|server| server.env.iter().chain(&server.headers));
        let named = named.filter(|(name, _)| is_secret_name(name)).filter_map(|(_, value)| expanded(value, find).ok());
        let token_urls = || token_sources().map(|oauth| &oauth.token_url);
        let values = || servers().flat_map(ToolServerSettings::values).chain(token_urls());
        let variables = values().flat_map(|value| variables_in(value));
        let held = variables.filter(|name| is_secret_name(name)).filter_map(find);
        let addresses = values().filter_map(|value| expanded(value, find).ok()).flat_map(|value| in_address(&value));
        let arguments = servers().flat_map(|server| {
            let args: Vec<String> = server.args.iter().filter_map(|value| expanded(value, find).ok()).collect();
            in_arguments(&args)
        });
        let all = clients.chain(named).chain(held).chain(addresses).chain(arguments);
        all.map(|value| without_scheme(&value).to_owned()).collect()
    }
}

/// Returns the secrets in a URL: its password, and the query parameters that have the name of a secret. Returns each
/// secret as it is written and with its percent-encoding decoded. Returns nothing if the text is not a URL with a host.
fn in_address(text: &str) -> Vec<String> {
    let Some(url) = Url::parse(text).ok().filter(Url::has_host) else { return Vec::new() };
    let password = url.password().map(str::to_owned);
    let decoded = password.as_deref().map(|password| percent_decode_str(password).decode_utf8_lossy().into_owned());
    let raw = url.query().into_iter().flat_map(|query| query.split('&')).filter_map(|pair| pair.split_once('='));
    let raw = raw.filter(|(name, _)| is_secret_name(name)).map(|(_, value)| value.to_owned());
    let pairs = url.query_pairs().filter(|(name, _)| is_secret_name(name)).map(|(_, value)| value.into_owned());
    password.into_iter().chain(decoded).chain(raw).chain(pairs).collect()
}

/// Returns the secrets among a program's arguments. The name of a secret precedes it, in the same argument or in the
/// one before: `--token=…`, `--api-key …`, `-e TOKEN=…`, `--header "X-Key: …"`. URLs in arguments such as `--url=…` are
/// searched too.
fn in_arguments(args: &[String]) -> Vec<String> {
    let mut secrets = Vec::new();
    let mut option = "";
    for arg in args {
        let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        let named = arg.split_once(['=', ':']).filter(|(name, _)| is_name(name));
        let is_option = arg.starts_with('-');
        match named {
            _ if !is_option && is_secret_name(option) => secrets.push(arg.clone()),
            Some((name, value)) if is_secret_name(name) => secrets.push(value.trim().to_owned()),
            Some((_, value)) => secrets.extend(in_address(value)),
            None => {}
        }
        option = if is_option && named.is_none() { arg } else { "" };
    }
    secrets
}

/// Returns `true` if the name contains a word that indicates a secret, such as `key` or `token`.
fn is_secret_name(name: &str) -> bool {
    const WORDS: [&str; 14] = [
        "apikey",
        "authorization",
        "cookie",
        "credential",
        "credentials",
        "key",
        "pass",
        "passphrase",
        "passwd",
        "password",
        "pat",
        "secret",
        "token",
        "auth",
    ];
    // A word begins after a character that is neither a letter nor a digit, or with a capital letter after a small one,
    // as in `accessToken`.
    let mut text = String::with_capacity(name.len() + 4);
    let mut after_small = false;
    for c in name.chars() {
        if after_small && c.is_uppercase() {
            text.push(' ');
        }
        after_small = c.is_lowercase();
        text.extend(c.to_lowercase());
    }
    text.split(|c: char| !c.is_alphanumeric()).any(|word| WORDS.contains(&word))
}

/// Returns the secret part of a header's value, without an authentication scheme such as `Bearer`.
fn without_scheme(value: &str) -> &str {
    match value.split_once(' ') {
        Some((scheme, secret)) if ["bearer", "basic", "token"].contains(&scheme.to_lowercase().as_str()) => {
            secret.trim()
        }
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{OAuthSettings, ToolServerSettings, ToolServersSettings, read_servers_file},
        is_secret_name,
    };

    #[test]
    fn values_are_secret_by_their_name() {
        let file = r#"{"mcpServers": {
            "one": {"url": "https://x.example/mcp?key=${MY_TOKEN}", "headers": {
                "Authorization": "Bearer abc.def", "X-Api-Key": "k 1", "Accept": "application/json", "X-Title": "My Tallybook"}},
            "two": {"command": "run", "args": ["--pat=${GITHUB_PAT}", "${HOME}"], "env": {
                "DB_PASSWORD": "p", "AUTHOR": "Ann", "KEYBOARD": "us"}}}}"#;
        let find = |name: &str| (name != "MY_TOKEN").then(|| format!("held by {name}"));
        let mut secrets = read_servers_file(file).unwrap().secrets(&find);
        secrets.sort_unstable();
        secrets.dedup();
        assert_eq!(secrets, ["abc.def", "held by GITHUB_PAT", "k 1", "p"]);
        assert!(is_secret_name("OPENAI_API_KEY") && is_secret_name("x-apikey") && !is_secret_name("MONKEY"));
        assert!(is_secret_name("accessToken") && is_secret_name("--apiKey") && !is_secret_name("tokenizer"));
    }

    #[test]
    fn secrets_in_the_address_of_a_token_endpoint_are_found() {
        let oauth = |token_url: &str| OAuthSettings {
            token_url: token_url.to_owned(),
            client_id_env: "ID".to_owned(),
            client_secret_env: "UNSET".to_owned(),
            scope: None,
        };
        let server = ToolServerSettings {
            oauth: Some(oauth("https://x.example/token?key=k1")),
            ..ToolServerSettings::default()
        };
        let mut settings = ToolServersSettings::default();
        settings.add("one".to_owned(), server).unwrap();
        settings.oauth = Some(oauth("https://y.example/${MY_TOKEN}/token"));
        let find = |name: &str| (name == "MY_TOKEN").then(|| "k2".to_owned());
        let mut secrets = settings.secrets(&find);
        secrets.sort_unstable();
        secrets.dedup();
        assert_eq!(secrets, ["k1", "k2"]);
    }

    #[test]
    fn secrets_in_urls_and_arguments_are_found_by_their_names() {
        let file = r#"{"mcpServers": {
            "one": {"url": "https://x.example/mcp?v=2&api_key=a%2Bb&accessToken=t1#key=none"},
            "two": {"command": "run", "args": [
                "--token=t2", "--api-key", "t3=x", "--verbose", "--key", "--yes", "-e", "DB_PASS=t4", "--header",
                "Authorization: Bearer t5", "--url=https://y.example/?sig=1&secret=t6", "postgres://me:p%40ss@db/x",
                "key", "--title", "A key: to it", "C:\\keys"], "env": {"DATABASE": "mysql://me:t7@db/x"}}}}"#;
        let mut secrets = read_servers_file(file).unwrap().secrets(&|_| None);
        secrets.sort_unstable();
        secrets.dedup();
        assert_eq!(secrets, ["a%2Bb", "a+b", "p%40ss", "p@ss", "t1", "t2", "t3=x", "t4", "t5", "t6", "t7"]);
    }
}
