//! The file `.mcp_servers`: JSON as desktop clients write it (`mcpServers`, `servers`), or with `httpStreamableServers`.
//! Members that only other programs know are passed over.

use serde::{
    Deserialize,
    de::{Deserializer, Error as _, MapAccess, Visitor},
};
use serde_json::Value;

use super::settings::{Pin, RiskSetting, ServerNameError, ToolServerSettings, ToolServersSettings};

/// Risk of servers that say nothing of it. Files of this kind come from programs that ask their user themselves or not at all;
/// with every call waiting for approval, API clients such as Open `WebUI` could not use any of the tools.
const DEFAULT_RISK: RiskSetting = RiskSetting::Claimed;
/// The longest file that is read.
const MAX_FILE_BYTES: usize = 1024 * 1024;

/// The file is not to be used.
#[derive(Debug, thiserror::Error)]
pub enum ServersFileError {
    /// It is not JSON, or something in it has the wrong type.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// It is a list.
    #[error("it is no object with the member mcpServers")]
    NoObject,
    /// It is far longer than such a file.
    #[error("it is longer than {MAX_FILE_BYTES} bytes")]
    TooLong,
    /// A server's name is not to be used.
    #[error(transparent)]
    Name(#[from] ServerNameError),
}

/// Reads the text of such a file.
pub fn read_servers_file(text: &str) -> Result<ToolServersSettings, ServersFileError> {
    if text.len() > MAX_FILE_BYTES {
        return Err(ServersFileError::TooLong);
    }
    // The items of a list would be read as the members in their order.
    if text.trim_start().starts_with('[') {
        return Err(ServersFileError::NoObject);
    }
    let file: File = serde_json::from_str(text)?;
    let mut settings = ToolServersSettings::default();
    for Named(entries) in [file.http_streamable_servers, file.mcp_servers, file.servers] {
        let servers = entries.into_iter().filter_map(|(name, entry)| Some((name, read_entry(entry)?))).collect();
        settings = settings.and(ToolServersSettings { servers, oauth: None })?;
    }
    Ok(settings)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct File {
    http_streamable_servers: Named,
    mcp_servers: Named,
    servers: Named,
}

/// Servers by name, in the order of the file, each as it is written.
#[derive(Default)]
struct Named(Vec<(String, Value)>);

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Entry {
    #[serde(alias = "type")]
    transport: Option<String>,
    disabled: bool,
    url: Option<String>,
    headers: std::collections::BTreeMap<String, String>,
    #[serde(alias = "allow_http")]
    allow_http: bool,
    #[serde(alias = "requires_auth")]
    requires_auth: bool,
    command: Option<String>,
    args: Vec<String>,
    env: std::collections::BTreeMap<String, Value>,
    risk: Option<RiskSetting>,
    include: Vec<String>,
    exclude: Vec<String>,
    #[serde(alias = "timeout_secs")]
    timeout_secs: Option<u64>,
    pin: Pin,
}

/// The settings of one server, which fails alone where it is not written as one. `None` where it is switched off.
fn read_entry(entry: Value) -> Option<ToolServerSettings> {
    if !entry.is_object() {
        return Some(unusable("it is no object with a url or a command"));
    }
    match serde_path_to_error::deserialize::<_, Entry>(entry) {
        Ok(entry) => entry.settings(),
        Err(error) => Some(unusable(format!("its member {} cannot be read: {}", error.path(), error.inner()))),
    }
}

fn unusable(problem: impl Into<String>) -> ToolServerSettings {
    ToolServerSettings { unusable: Some(problem.into()), ..ToolServerSettings::default() }
}

impl Entry {
    /// `None` where it is switched off.
    fn settings(self) -> Option<ToolServerSettings> {
        if self.disabled {
            return None;
        }
        if self.transport.as_deref() == Some("sse") {
            let problem =
                "the transport \"sse\" is no longer part of MCP; use the server's Streamable HTTP address, often /mcp";
            return Some(unusable(problem));
        }
        let text = |value: Value| if let Value::String(text) = value { text } else { value.to_string() };
        Some(ToolServerSettings {
            url: self.url,
            headers: self.headers,
            allow_http: self.allow_http,
            requires_auth: self.requires_auth,
            oauth: None,
            command: self.command,
            args: self.args,
            env: self.env.into_iter().map(|(name, value)| (name, text(value))).collect(),
            risk: self.risk.unwrap_or(DEFAULT_RISK),
            include: self.include,
            exclude: self.exclude,
            timeout_secs: self.timeout_secs,
            pin: self.pin,
            unusable: None,
        })
    }
}

impl<'de> Deserialize<'de> for Named {
    /// A name that occurs twice in one object is an error, too, where JSON alone would keep the later.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Named;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object with a tool server under each name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Named, A::Error> {
                let mut servers: Vec<(String, Value)> = Vec::new();
                while let Some((name, entry)) = map.next_entry::<String, Value>()? {
                    if servers.iter().any(|(known, _)| *known == name) {
                        return Err(A::Error::custom(ServerNameError::Twice(name)));
                    }
                    servers.push((name, entry));
                }
                Ok(Named(servers))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ways_of_writing_servers_have_one_meaning() {
        let file = r#"{
            "httpStreamableServers": {
                "met-data": { "url": "http://127.0.0.1:13388/mcp" },
                "doc-srch": { "url": "http://127.0.0.1:13387/mcp", "requiresAuth": true }
            },
            "mcpServers": {
                "files": { "command": "npx", "args": ["-y", "files"], "env": { "LEVEL": 3 }, "autoApprove": [], "risk": "high" },
                "off": { "command": "off", "disabled": true }
            },
            "servers": { "docs": { "type": "http", "url": "https://example.com/mcp", "headers": { "X-Key": "${KEY}" } } }
        }"#;
        let servers = read_servers_file(file).unwrap().servers;
        let names: Vec<_> = servers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["met-data", "doc-srch", "files", "docs"]);
        assert!(!servers[0].1.requires_auth && servers[1].1.requires_auth);
        assert_eq!(servers[2].1.env["LEVEL"], "3");
        let risks: Vec<_> = servers.iter().map(|(_, server)| server.risk).collect();
        assert_eq!(risks, [RiskSetting::Claimed, RiskSetting::Claimed, RiskSetting::High, RiskSetting::Claimed]);
        assert_eq!(servers[3].1.headers["X-Key"], "${KEY}");
    }

    #[test]
    fn what_is_not_written_as_a_server_fails_alone() {
        let file = r#"{ "mcpServers": {
            "number": { "url": 5 }, "list": [], "old": { "type": "sse", "url": "https://example.com" }, "good": { "command": "x" },
            "off": { "type": "sse", "disabled": true }
        } }"#;
        let servers = read_servers_file(file).unwrap().servers;
        let problems: Vec<_> = servers.iter().map(|(name, server)| (&**name, server.unusable.as_deref())).collect();
        let [(_, number), (_, list), (_, old), good] = problems[..] else { panic!("{problems:?}") };
        assert_eq!(number, Some("its member url cannot be read: invalid type: integer `5`, expected a string"));
        assert_eq!(list, Some("it is no object with a url or a command"));
        assert!(old.is_some_and(|problem| problem.contains("Streamable HTTP")), "{old:?}");
        assert_eq!(good, ("good", None));
    }

    #[test]
    fn a_name_twice_is_an_error() {
        let error = |file| read_servers_file(file).unwrap_err().to_string();
        let across = error(r#"{"mcpServers":{"a":{"command":"x"}},"servers":{"a":{"command":"y"}}}"#);
        assert_eq!(across, r#"there are two tool servers named "a"; give one of them another name"#);
        assert!(error(r#"{"mcpServers":{"a":{"command":"x"},"a":{"command":"y"}}}"#).contains("two tool servers"));
        assert!(error(r#"{"mcpServers":[]}"#).contains("line 1"));
        assert!(error("[]").contains("no object"));
        assert!(error(r#"{"mcpServers":{"":{"command":"x"}}}"#).contains("1 to 50 characters"));
    }
}
