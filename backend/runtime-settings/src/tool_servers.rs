//! Lists, changes and tests tool servers.

use std::time::Instant;

use secrecy::SecretString;
use serde_json::{Map, Value};
use tallybook_accounts::UserId;
use tallybook_mcp::{ProbedTools, ServerReport, ToolServerSettings, probe};
use tallybook_protocol::{
    ConfiguredToolServer, ConfiguredToolServers, LeftOutTestedTool, SettingsOrigin, TestedTool, ToolServerFields,
    ToolServerTest,
};
use tallybook_tools::Secrets;

use crate::{
    entries::take_secret,
    error::SettingsError,
    kind::EntryKind,
    service::{AddedEntry, RuntimeSettings},
    tool_server_source::{ToolServerSource, invalid, read},
    unusable::Unusable,
};

impl RuntimeSettings {
    /// Lists the configured tool servers and the added ones.
    pub async fn list_tool_servers(&self) -> Result<ConfiguredToolServers, SettingsError> {
        self.refresh().await?;
        let reports = self.context.tool_servers.reports();
        let configured = self.context.configured.tool_servers.iter();
        let configured = configured.map(|(name, settings)| self.show_configured_tool_server(name, settings, &reports));
        let added = self.context.added.lock().await;
        let added = added.tool_servers.iter().map(|server| self.show_added_tool_server(server, &reports));
        Ok(ConfiguredToolServers { items: configured.chain(added).collect() })
    }

    /// Returns the tool server with this name.
    pub async fn find_tool_server(&self, name: &str) -> Result<ConfiguredToolServer, SettingsError> {
        let servers = self.list_tool_servers().await?;
        let found = servers.items.into_iter().find(|server| server.fields.name == name);
        found.ok_or_else(|| SettingsError::NotFound(EntryKind::ToolServer, name.to_owned()))
    }

    /// Adds a tool server. `new` has the settings and, if the server requires them, the headers.
    pub async fn create_tool_server(
        &self,
        actor: UserId,
        new: Map<String, Value>,
    ) -> Result<ConfiguredToolServer, SettingsError> {
        let name = self.create_entry(EntryKind::ToolServer, actor, new).await?;
        self.find_tool_server(&name).await
    }

    /// Changes an added tool server: each member of `patch` replaces a setting, and null removes it. If `version` is
    /// given and the server has another version, nothing is changed.
    pub async fn update_tool_server(
        &self,
        actor: UserId,
        name: &str,
        patch: Map<String, Value>,
        version: Option<i64>,
    ) -> Result<ConfiguredToolServer, SettingsError> {
        self.update_entry(EntryKind::ToolServer, actor, name, patch, version).await?;
        self.find_tool_server(name).await
    }

    /// Removes an added tool server. Turns that started with its tools keep them.
    pub async fn delete_tool_server(
        &self,
        actor: UserId,
        name: &str,
        version: Option<i64>,
    ) -> Result<(), SettingsError> {
        self.delete_entry(EntryKind::ToolServer, actor, name, version).await
    }

    /// Connects to a tool server and lists its tools. A program of the settings file is not started again: its running
    /// connection lists them. `patch` has changes of an added server that are not stored, as in
    /// [`Self::update_tool_server`].
    pub async fn test_tool_server(
        &self,
        name: &str,
        patch: Map<String, Value>,
    ) -> Result<ToolServerTest, SettingsError> {
        if self.context.configured.has(EntryKind::ToolServer, name) {
            if !patch.is_empty() {
                return Err(SettingsError::SetInFile(EntryKind::ToolServer, name.to_owned()));
            }
            let _permit = self.context.begin_test()?;
            let (began, tool_servers) = (Instant::now(), &self.context.tool_servers);
            let tested = tool_servers.test_configured(name).await;
            let tested = tested.ok_or_else(|| SettingsError::NotFound(EntryKind::ToolServer, name.to_owned()))?;
            return Ok(outcome(began, tested, &self.context.secrets));
        }
        let (settings, headers) = self.patched(EntryKind::ToolServer, name, patch).await?;
        self.test_settings_of_server(settings, headers.as_ref()).await
    }

    /// Connects to a tool server that is not added yet and lists its tools. `new` is as in
    /// [`Self::create_tool_server`].
    pub async fn test_new_tool_server(&self, mut new: Map<String, Value>) -> Result<ToolServerTest, SettingsError> {
        let headers = take_secret(EntryKind::ToolServer, &mut new)?;
        self.test_settings_of_server(new, headers.as_ref()).await
    }

    async fn test_settings_of_server(
        &self,
        settings: Map<String, Value>,
        headers: Option<&SecretString>,
    ) -> Result<ToolServerTest, SettingsError> {
        let fields = read(settings)?;
        let source = ToolServerSource::read(&fields, headers).map_err(invalid)?;
        let _permit = self.context.begin_test()?;
        let began = Instant::now();
        let secrets = self.context.secrets.and(&Secrets::new(source.secrets()));
        let probed = probe(&fields.name, source.settings, &secrets).await;
        Ok(outcome(began, probed, &secrets))
    }

    fn show_configured_tool_server(
        &self,
        name: &str,
        settings: &ToolServerSettings,
        reports: &[ServerReport],
    ) -> ConfiguredToolServer {
        let ToolServerSettings { allow_http, risk, include, exclude, timeout_secs, pin, .. } = settings;
        let fields = ToolServerFields {
            name: name.to_owned(),
            url: self.context.secrets.redact(settings.shown_url()).into_owned(),
            allow_http: *allow_http,
            risk: Some(risk.as_str().to_owned()),
            include: include.clone(),
            exclude: exclude.clone(),
            timeout_secs: *timeout_secs,
            pin: Some(pin.as_str().to_owned()),
        };
        let has_headers = !settings.headers.is_empty();
        ConfiguredToolServer { has_headers, ..self.with_report(fields, SettingsOrigin::File, reports) }
    }

    fn show_added_tool_server(
        &self,
        server: &AddedEntry<ToolServerFields, ToolServerSource>,
        reports: &[ServerReport],
    ) -> ConfiguredToolServer {
        let (kind, name) = (EntryKind::ToolServer, &server.fields.name);
        let problem = self.context.configured.problem(kind, name, &server.source);
        let reports = if problem.is_some() { &[] } else { reports };
        let shown = self.with_report(server.fields.clone(), SettingsOrigin::Page, reports);
        ConfiguredToolServer {
            has_headers: server.has_secret,
            problem_code: problem.as_ref().map(Unusable::code),
            problem: problem.map(|problem| problem.to_string()).or(shown.problem),
            version: Some(server.version),
            updated_at: Some(server.updated_at),
            ..shown
        }
    }

    fn with_report(
        &self,
        fields: ToolServerFields,
        origin: SettingsOrigin,
        reports: &[ServerReport],
    ) -> ConfiguredToolServer {
        let report = reports.iter().find(|report| *report.name == *fields.name);
        let error = report.and_then(|report| report.error.clone());
        ConfiguredToolServer {
            status: report.map(|report| report.status.as_str().to_owned()),
            tools: report.map_or(0, |report| report.tools),
            problem_code: None,
            problem: error.map(|error| self.context.secrets.redact(error).into_owned()),
            fields,
            origin,
            has_headers: false,
            version: None,
            updated_at: None,
        }
    }
}

/// Returns the outcome of a test, without `secrets`.
fn outcome(began: Instant, tested: Result<ProbedTools, String>, secrets: &Secrets) -> ToolServerTest {
    let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let ProbedTools { tools, left_out } = match tested {
        Ok(tools) => tools,
        Err(error) => return ToolServerTest { ms, error: Some(error), ..ToolServerTest::default() },
    };
    let shown = |text: String| secrets.redact(text).into_owned();
    ToolServerTest {
        ok: true,
        ms,
        error: None,
        tools: tools
            .into_iter()
            .map(|tool| TestedTool {
                name: shown(tool.name),
                description: shown(tool.description),
                risk: tool.risk.as_str().to_owned(),
            })
            .collect(),
        left_out: left_out
            .into_iter()
            .map(|tool| LeftOutTestedTool { name: shown(tool.name), reason: shown(tool.reason) })
            .collect(),
    }
}
