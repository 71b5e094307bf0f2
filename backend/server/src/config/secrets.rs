//! The secrets that the settings hold, to be hidden from whoever reads what tools say, and the log.

use secrecy::SecretString;
use tallybook_mcp::ToolServersSettings;
use tallybook_tools::Secrets;
use url::Url;

use crate::models::{ModelChoice, ModelEntry};

/// The password in the database's address, the providers' keys, and what tool servers are told. `find` gives what an
/// environment variable holds.
pub(super) fn secrets(
    database_url: &SecretString,
    models: &[ModelEntry],
    tool_servers: &ToolServersSettings,
    find: impl Fn(&str) -> Option<String>,
) -> Secrets {
    use secrecy::ExposeSecret as _;

    let password = Url::parse(database_url.expose_secret()).ok().and_then(|url| Some(url.password()?.to_owned()));
    // As it stands in the address, and as it is.
    let decoded = password
        .as_deref()
        .map(|password| percent_encoding::percent_decode_str(password).decode_utf8_lossy().into_owned());
    let keys = models.iter().filter_map(|entry| match &entry.choice {
        ModelChoice::Provider(settings) => Some(settings.api_key.as_ref()?.expose().to_owned()),
        ModelChoice::Demo { .. } => None,
    });
    Secrets::new(password.into_iter().chain(decoded).chain(keys).chain(tool_servers.secrets(&find)))
}
