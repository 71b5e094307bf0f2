//! Collects the secrets in the settings, so that they can be redacted in tool outputs and in the log.

use secrecy::ExposeSecret as _;
use tallybook_accounts::AccountsSettings;
use tallybook_conversations::models::{ModelChoice, ModelEntry};
use tallybook_mcp::ToolServersSettings;
use tallybook_tools::Secrets;
use url::Url;

use crate::config::cli::Options;

/// Headers of the requests that send traces, as `name=value,…`. They may contain a key.
const TRACE_HEADERS: [&str; 2] = ["OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"];

/// Credentials of an S3-compatible store for files.
const STORAGE_KEYS: [&str; 2] = ["AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"];

/// Returns the secrets: the database password, the providers' keys, the client secret of the identity provider, the key
/// of stored secrets, the token for `/metrics`, and those sent to tool servers, the store of files and the trace
/// collector. `find` returns the value of an environment variable.
pub(crate) fn secrets(
    options: &Options,
    models: &[ModelEntry],
    accounts: &AccountsSettings,
    tool_servers: &ToolServersSettings,
    find: impl Fn(&str) -> Option<String>,
) -> Secrets {
    let password =
        Url::parse(options.database_url.expose_secret()).ok().and_then(|url| Some(url.password()?.to_owned()));
    // Redacts the database password both as written in the URL and percent-decoded.
    let decoded = password.as_deref().map(decoded);
    let keys = models.iter().filter_map(|entry| match &entry.choice {
        ModelChoice::Provider(settings) => Some(settings.api_key.as_ref()?.expose().to_owned()),
        ModelChoice::Demo { .. } => None,
    });
    let client_secret = accounts.openid.as_ref().and_then(|openid| openid.client_secret.as_ref());
    let client_secret = client_secret.map(|secret| secret.expose_secret().to_owned());
    let headers = TRACE_HEADERS.map(|name| find(name).unwrap_or_default()).join(",");
    let headers = headers.split(',').filter_map(|header| Some(decoded_value(header.split_once('=')?.1)));
    let secret_key = options.secret_key.as_ref().map(|key| key.expose_secret().trim().to_owned());
    let metrics = options.metrics_token.as_ref().map(|token| token.expose_secret().trim().to_owned());
    let all = password
        .into_iter()
        .chain(decoded)
        .chain(keys)
        .chain(client_secret)
        .chain(secret_key)
        .chain(metrics)
        .chain(headers);
    let all = all.chain(STORAGE_KEYS.into_iter().filter_map(&find));
    Secrets::new(all.chain(tool_servers.secrets(&find)))
}

fn decoded_value(value: &str) -> String {
    let value = decoded(value.trim());
    value.rsplit(' ').next().unwrap_or_default().to_owned()
}

fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}
