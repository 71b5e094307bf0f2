//! Parses the file `.mcp_servers`: JSON in the format of desktop clients (`mcpServers`, `servers`), or with
//! `httpStreamableServers`. Ignores members that only other programs know.

use serde::{
    Deserialize,
    de::{Deserializer, Error as _, MapAccess, Visitor},
};
use serde_json::{Value, value::RawValue};

use super::{
    settings::{Pin, RiskSetting, ServerNameError, ToolServerSettings, ToolServersSettings},
    value_errors::{ValueError, without_place},
};

/// Risk of servers whose entry does not set one. Files of this kind come from programs that ask their own user for
/// approval, or never ask. If every call needed approval, API clients such as Open `WebUI` could not use any of the
/// tools.
const DEFAULT_RISK: RiskSetting = RiskSetting::Claimed;
/// Maximum size of the file, in bytes.
const MAX_FILE_BYTES: usize = 1024 * 1024;

/// Reason why the file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{problem}")]
pub struct ServersFileError {
    /// Line of the problem, from 1.
    pub line: usize,
    problem: String,
}

impl ServersFileError {
    fn new(line: usize, problem: impl Into<String>) -> Self {
        Self { line, problem: problem.into() }
    }

    /// Converts an error of the parser, and names the member that it is about.
    fn of_parser(error: serde_path_to_error::Error<serde_json::Error>) -> Self {
        let path = error.path().to_string();
        let error = error.into_inner();
        if error.is_data() { Self::new(error.line(), sentence(&path, &error)) } else { Self::not_json(&error) }
    }

    fn not_json(error: &serde_json::Error) -> Self {
        Self::new(error.line(), format!("the file is not valid JSON: {}.", without_place(&error.to_string())))
    }
}

/// Formats an error as a sentence that begins with the member at `path`.
fn sentence(path: &str, error: &serde_json::Error) -> String {
    match ValueError::parse(&error.to_string()) {
        // This module's own errors are sentences already.
        ValueError::Other(message) => format!("{message}."),
        value_error => format!("{path} {value_error}"),
    }
}

/// Returns the line on which `part` begins in `text`, from 1. `part` must be a slice of `text`.
fn line_of(text: &str, part: &str) -> usize {
    let before = part.as_ptr().addr().saturating_sub(text.as_ptr().addr());
    1 + text.bytes().take(before).filter(|byte| *byte == b'\n').count()
}

/// Parses the text of such a file.
pub fn read_servers_file(text: &str) -> Result<ToolServersSettings, ServersFileError> {
    if text.len() > MAX_FILE_BYTES {
        return Err(ServersFileError::new(1, format!("the file is longer than {MAX_FILE_BYTES} bytes.")));
    }
    // Without this check, serde would accept a list, and read its items as the members in order.
    if !text.trim_start().starts_with('{') {
        return Err(ServersFileError::new(1, "the file must be an object with the member mcpServers."));
    }
    let mut json = serde_json::Deserializer::from_str(text);
    let file: File<'_> = serde_path_to_error::deserialize(&mut json).map_err(ServersFileError::of_parser)?;
    json.end().map_err(|error| ServersFileError::not_json(&error))?;
    let mut settings = ToolServersSettings::default();
    for Named(entries) in [file.http_streamable_servers, file.mcp_servers, file.servers] {
        for (name, entry) in entries {
            let line = line_of(text, entry.get());
            let Some(server) = read_entry(entry.get(), line) else { continue };
            settings.add(name, server).map_err(|error| ServersFileError::new(line, format!("{error}.")))?;
        }
    }
    Ok(settings)
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct File<'a> {
    #[serde(borrow)]
    http_streamable_servers: Named<'a>,
    #[serde(borrow)]
    mcp_servers: Named<'a>,
    #[serde(borrow)]
    servers: Named<'a>,
}

/// Servers by name, in the order of the file, each as its JSON text.
#[derive(Default)]
struct Named<'a>(Vec<(String, &'a RawValue)>);

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

/// Parses the entry of one server, which begins on this line. Returns `None` if the server is disabled. An entry that
/// cannot be parsed affects only its own server.
fn read_entry(entry: &str, line: usize) -> Option<ToolServerSettings> {
    if !entry.starts_with('{') {
        return Some(unusable(format!("line {line}: it must be an object with a url or a command")));
    }
    match serde_path_to_error::deserialize::<_, Entry>(&mut serde_json::Deserializer::from_str(entry)) {
        Ok(entry) => entry.settings(),
        Err(error) => {
            let path = error.path().to_string();
            let error = error.into_inner();
            let problem = sentence(&path, &error);
            Some(unusable(format!("line {}: {}", line + error.line() - 1, problem.trim_end_matches('.'))))
        }
    }
}

fn unusable(problem: impl Into<String>) -> ToolServerSettings {
    ToolServerSettings { unusable: Some(problem.into()), ..ToolServerSettings::default() }
}

impl Entry {
    /// Returns the settings of the server, or `None` if it is disabled.
    fn settings(self) -> Option<ToolServerSettings> {
        if self.disabled {
            return None;
        }
        if self.transport.as_deref() == Some("sse") {
            let problem =
                "the transport \"sse\" is no longer part of MCP; use the server's Streamable HTTP URL, often /mcp";
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

impl<'de: 'a, 'a> Deserialize<'de> for Named<'a> {
    /// Reads the servers in order. A name that occurs twice in one object is an error; plain JSON would keep the later
    /// entry.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Named<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object with a tool server under each name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Named<'de>, A::Error> {
                let mut servers: Vec<(String, &'de RawValue)> = Vec::new();
                while let Some((name, entry)) = map.next_entry::<String, &'de RawValue>()? {
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
    fn all_notations_of_servers_have_the_same_meaning() {
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
    fn an_invalid_entry_fails_only_its_server() {
        let file = r#"{ "mcpServers": {
            "number": {
                "url": 5 }, "list": [], "old": { "type": "sse", "url": "https://example.com" }, "good": { "command": "x" },
            "off": { "type": "sse", "disabled": true }
        } }"#;
        let servers = read_servers_file(file).unwrap().servers;
        let problems: Vec<_> = servers.iter().map(|(name, server)| (&**name, server.unusable.as_deref())).collect();
        let [(_, number), (_, list), (_, old), good] = problems[..] else { panic!("{problems:?}") };
        assert_eq!(number, Some("line 3: url must be text in quotes, but is a whole number"));
        assert_eq!(list, Some("line 3: it must be an object with a url or a command"));
        assert!(old.is_some_and(|problem| problem.contains("Streamable HTTP")), "{old:?}");
        assert_eq!(good, ("good", None));
    }

    #[test]
    fn errors_of_the_file_name_the_line() {
        let twice = "two tool servers are named \"a\"; rename one of them.";
        for (file, line, problem) in [
            ("{\"mcpServers\":{\"a\":{\"command\":\"x\"}},\n\"servers\":{\"a\":{\"command\":\"y\"}}}", 2, twice),
            ("{\"mcpServers\":{\"a\":{\"command\":\"x\"},\n\"a\":{\"command\":\"y\"}}}", 2, twice),
            (
                "{\n\"mcpServers\":[]}",
                2,
                "mcpServers must be an object with a tool server under each name, but is a list.",
            ),
            (
                "{\n\"servers\":\"hunter2\"}",
                2,
                "servers must be an object with a tool server under each name, but is text.",
            ),
            ("[]", 1, "the file must be an object with the member mcpServers."),
            (
                "{\"mcpServers\":\n{\"\":{\"command\":\"x\"}}}",
                2,
                "a tool server's name must have 1 to 50 characters on one line.",
            ),
            ("{\n\"mcpServers\": }", 2, "the file is not valid JSON: expected value."),
            ("{}\n}", 2, "the file is not valid JSON: trailing characters."),
        ] {
            let error = read_servers_file(file).unwrap_err();
            assert_eq!((error.line, error.to_string().as_str()), (line, problem), "{file}");
        }
    }
}
