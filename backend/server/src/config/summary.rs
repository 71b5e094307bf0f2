//! Writes a summary of the settings, for the command `check-config`. It contains no secrets.

use std::fmt::Write as _;

use tallybook_accounts::AccountsSettings;
use tallybook_conversations::models::{ModelChoice, ModelEntry};
use tallybook_llm::{ModelSettings, Quirk, ToolMode};
use tallybook_mcp::{ToolServersSettings, check};

use super::Settings;

impl Settings {
    /// Returns a summary of the settings, one line each.
    pub fn summary(&self) -> String {
        let file = self.file.as_ref().map_or("none".to_owned(), |file| file.display().to_string());
        let mut lines = format!(
            "The settings are valid.\n  file:   {file}\n  listen: {}:{}\n  users:  {}\n  data:   {}\n  models:\n",
            self.host,
            self.port,
            people(&self.accounts),
            self.database_url
        );
        for (number, entry) in self.models.iter().enumerate() {
            let default = if number == 0 { " (default)" } else { "" };
            // Writing to a string does not fail.
            let _ = writeln!(lines, "    {}{default}: {}", entry.name, text(entry));
        }
        let _ = writeln!(lines, "  steps:  at most {} of an answer can call tools", self.limits.steps);
        let consent = if self.consent_wait_hours > 0.0 {
            format!("calls wait for it for {} hours and are then denied", self.consent_wait_hours)
        } else {
            "calls wait for it without a timeout".to_owned()
        };
        let _ = writeln!(lines, "  consent: {consent}");
        if let Some(review) = &self.review {
            let _ = writeln!(lines, "  review: {review}");
        }
        let _ = writeln!(lines, "  memory: {}", self.memory);
        let _ = writeln!(lines, "  plan:   {}", self.plan);
        if self.fetch_page {
            let hosts: Vec<String> = self.fetch_page_hosts.iter().map(ToString::to_string).collect();
            let hosts = if hosts.is_empty() { "none".to_owned() } else { hosts.join(", ") };
            let _ = writeln!(lines, "  web:    fetch_page needs approval, except for these hosts: {hosts}");
        }
        let ToolServersSettings { servers, oauth } = &self.tool_servers;
        if !servers.is_empty() {
            lines += "  tool servers:\n";
        }
        for (name, server) in servers {
            let _ = write!(lines, "    {name}: {server}");
            let problem = check(server, oauth.as_ref(), |name| std::env::var(name).ok()).err();
            let problem = problem.map(|problem| format!(". It cannot be used: {problem}")).unwrap_or_default();
            let _ = writeln!(lines, "{problem}");
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
