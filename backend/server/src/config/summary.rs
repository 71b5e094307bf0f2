//! Writes a summary of the settings, for the command `check-config`. It contains no secrets.

use std::fmt::Write as _;

use tallybook_accounts::AccountsSettings;
use tallybook_conversations::models::{ModelChoice, ModelEntry};
use tallybook_llm::{ModelSettings, Quirk, ToolMode};
use tallybook_mcp::{ToolServersSettings, check};
use tallybook_protocol::ModelFields;
use tallybook_runtime_settings::{AddedModel, AddedToolServer, MergedSettings};

use super::Settings;

impl Settings {
    /// Returns a summary of the settings, one line each. With `merged`, it has what admins have added and changed, too,
    /// and says of each entry where it comes from.
    pub fn summary(&self, merged: Option<&MergedSettings>) -> String {
        let file = self.file.as_ref().map_or("none".to_owned(), |file| file.display().to_string());
        let mut lines = format!(
            "The settings are valid.\n  file:   {file}\n  listen: {}:{}\n  users:  {}\n  data:   {}\n  models:\n",
            self.host,
            self.port,
            people(&self.accounts),
            self.database_url
        );
        self.write_models(&mut lines, merged);
        // Writing to a string does not fail.
        let _ = writeln!(lines, "  steps:  at most {} of an answer can call tools", self.limits.steps);
        if merged.is_none() {
            self.write_changeable(&mut lines);
        }
        if self.fetch_page {
            let hosts: Vec<String> = self.fetch_page_hosts.iter().map(ToString::to_string).collect();
            let hosts = if hosts.is_empty() { "none".to_owned() } else { hosts.join(", ") };
            let _ = writeln!(lines, "  web:    fetch_page needs approval, except for these hosts: {hosts}");
        }
        self.write_tool_servers(&mut lines, merged);
        if let Some(MergedSettings { groups, budgets, settings, problems, .. }) = merged {
            for (title, items) in [("groups", groups), ("budgets", budgets), ("settings", settings)] {
                if !items.is_empty() {
                    let _ = writeln!(lines, "  {title}:\n    {}", items.join("\n    "));
                }
            }
            lines.extend(problems.iter().map(|problem| format!("  {problem}\n")));
        }
        for file in self.database_url.exposed_files() {
            let file = file.display();
            let _ = writeln!(
                lines,
                "  Other users of this machine can read {file}. The next start makes it private (mode 0600)."
            );
        }
        for remark in &self.remarks {
            let _ = writeln!(lines, "  {remark}");
        }
        lines
    }

    fn write_models(&self, lines: &mut String, merged: Option<&MergedSettings>) {
        for (number, entry) in self.models.iter().enumerate() {
            let is_default = merged.map_or(number == 0, |merged| merged.default_model == entry.name);
            let _ = writeln!(lines, "    {}{}: {}", entry.name, marks(merged, FROM_FILE, is_default), text(entry));
        }
        let Some(MergedSettings { default_model, models, .. }) = merged else { return };
        for AddedModel { fields, entry, problem } in models {
            let is_default = problem.is_none() && *default_model == fields.name;
            let about = entry.as_ref().map_or_else(|| fields_text(fields), text);
            let _ = writeln!(
                lines,
                "    {}{}: {about}{}",
                fields.name,
                marks(merged, FROM_PAGE, is_default),
                unused(problem.as_deref())
            );
        }
    }

    /// Writes settings that admins can change while the server runs, with their values at the start.
    fn write_changeable(&self, lines: &mut String) {
        let approval = if self.consent_wait_hours > 0.0 {
            format!("calls wait for it for {} hours and are then denied", self.consent_wait_hours)
        } else {
            "calls wait for it without a timeout".to_owned()
        };
        let _ = writeln!(lines, "  approval: {approval}");
        if let Some(review) = &self.review {
            let _ = writeln!(lines, "  review: {review}");
        }
        let _ = writeln!(lines, "  memory: {}\n  plan:   {}", self.memory, self.plan);
    }

    fn write_tool_servers(&self, lines: &mut String, merged: Option<&MergedSettings>) {
        let ToolServersSettings { servers, oauth } = &self.tool_servers;
        let added = merged.map(|merged| merged.tool_servers.as_slice()).unwrap_or_default();
        if !servers.is_empty() || !added.is_empty() {
            *lines += "  tool servers:\n";
        }
        for (name, server) in servers {
            let problem = check(server, oauth.as_ref(), |name| std::env::var(name).ok()).err();
            let problem = problem.map(|problem| format!(". It cannot be used: {problem}")).unwrap_or_default();
            let _ = writeln!(lines, "    {name}{}: {server}{problem}", marks(merged, FROM_FILE, false));
        }
        for AddedToolServer { fields, settings, problem } in added {
            let about = settings.as_ref().map_or_else(|| fields.url.clone(), ToString::to_string);
            let _ = writeln!(
                lines,
                "    {}{}: {about}{}",
                fields.name,
                marks(merged, FROM_PAGE, false),
                unused(problem.as_deref())
            );
        }
    }
}

/// Origins of models and tool servers.
const FROM_FILE: &str = "file or environment";
const FROM_PAGE: &str = "added in the page";

/// Returns the origin of an entry, if entries of both origins are listed, and whether it is the default.
fn marks(merged: Option<&MergedSettings>, origin: &str, is_default: bool) -> String {
    let marks: Vec<&str> = merged.map(|_| origin).into_iter().chain(is_default.then_some("default")).collect();
    if marks.is_empty() { String::new() } else { format!(" ({})", marks.join(", ")) }
}

/// Returns the end of the line about an added entry that is not used for this reason.
fn unused(problem: Option<&str>) -> String {
    problem.map(|problem| format!(". It is not used: {problem}")).unwrap_or_default()
}

/// Describes an added model that cannot be used.
fn fields_text(fields: &ModelFields) -> String {
    let address = fields.base_url.as_ref().map(|url| format!(" at {url}")).unwrap_or_default();
    let model = fields.model.as_ref().map(|model| format!(" {model}")).unwrap_or_default();
    format!("{}{model}{address}", fields.provider)
}

fn people(accounts: &AccountsSettings) -> String {
    match &accounts.openid {
        _ if !accounts.required => "one user, without sign-in".to_owned(),
        Some(openid) => format!("sign in with a password or with {} ({})", openid.name, openid.issuer),
        None => "sign in".to_owned(),
    }
}

fn text(entry: &ModelEntry) -> String {
    let mut text = match &entry.choice {
        ModelChoice::Demo { .. } => "the built-in demo model".to_owned(),
        ModelChoice::Provider(settings) => provider_text(settings),
    };
    if entry.vision {
        text += ", vision = true";
    } else if let ModelChoice::Provider(settings) = &entry.choice
        && settings.quirks.get(&Quirk::NoImages) == Some(&true)
    {
        text += ", vision = false";
    }
    if let Some(prices) = entry.prices {
        let _ = write!(text, ", prices per million tokens: {} for input, {} for output", prices.input, prices.output);
    }
    text
}

fn provider_text(settings: &ModelSettings) -> String {
    let tools = match settings.tool_mode {
        ToolMode::Auto => "native if the model's server supports them",
        ToolMode::Native => "native",
        ToolMode::Prompt => "in the prompt",
    };
    let key = if settings.api_key.is_some() { "with an API key" } else { "without an API key" };
    let address = settings.base_url.as_ref().map(|url| format!(" at {url}")).unwrap_or_default();
    let mut text = format!("{} {}{address}, {key}, tools {tools}", settings.provider, settings.model_name());
    let _ = write!(text, ", max_tokens = {}, context_tokens = {}", settings.max_tokens, settings.context_tokens);
    let optional = [
        ("temperature", settings.temperature.map(|value| value.to_string())),
        ("reasoning_effort", settings.reasoning_effort.map(|effort| effort.as_str().to_owned())),
        ("thinking_tokens", settings.thinking_tokens.map(|tokens| tokens.to_string())),
    ];
    for (key, value) in optional {
        if let Some(value) = value {
            let _ = write!(text, ", {key} = {value}");
        }
    }
    for (quirk, is_set) in settings.quirks.iter().filter(|(quirk, _)| **quirk != Quirk::NoImages) {
        let _ = write!(text, ", {} = {is_set}", quirk.as_str());
    }
    text
}
