//! The secrets that the settings hold, to be hidden from whoever reads what tools say, and the log.

use secrecy::{ExposeSecret as _, SecretString};
use tallybook_mcp::ToolServersSettings;
use tallybook_tools::Secrets;
use url::Url;

use crate::{
    accounts::AccountsSettings,
    models::{ModelChoice, ModelEntry},
};

/// What traces are sent with, as `name=value,…`, which may be a key.
const TRACE_HEADERS: [&str; 2] = ["OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"];

/// The password in the database's address, the providers' keys, the issuer's secret, and what tool servers and the collector of
/// traces are told. `find` gives what an environment variable holds.
pub(super) fn secrets(
    database_url: &SecretString,
    models: &[ModelEntry],
    accounts: &AccountsSettings,
    tool_servers: &ToolServersSettings,
    find: impl Fn(&str) -> Option<String>,
) -> Secrets {
    let password = Url::parse(database_url.expose_secret()).ok().and_then(|url| Some(url.password()?.to_owned()));
    // As it stands in the address, and as it is.
    let decoded = password.as_deref().map(decoded);
    let keys = models.iter().filter_map(|entry| match &entry.choice {
        ModelChoice::Provider(settings) => Some(settings.api_key.as_ref()?.expose().to_owned()),
        ModelChoice::Demo { .. } => None,
    });
    let issuer = accounts.openid.as_ref().and_then(|openid| openid.client_secret.as_ref());
    let issuer = issuer.map(|secret| secret.expose_secret().to_owned());
    let headers = TRACE_HEADERS.map(|name| find(name).unwrap_or_default()).join(",");
    let headers = headers.split(',').filter_map(|header| Some(decoded_value(header.split_once('=')?.1)));
    let all = password.into_iter().chain(decoded).chain(keys).chain(issuer).chain(headers);
    Secrets::new(all.chain(tool_servers.secrets(&find)))
}

fn decoded_value(value: &str) -> String {
    let value = decoded(value.trim());
    value.rsplit(' ').next().unwrap_or_default().to_owned()
}

fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}
