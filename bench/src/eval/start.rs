//! A server started for a mode: with one's own settings, or as it is where nothing is set; with the tools of the tasks, and a
//! database of its own.

use std::{env, fs, path::Path, process::Command};

use anyhow::{Context as _, Result};
use serde_json::json;
use tempfile::TempDir;

use super::{mode::Mode, task::SERVER};
use crate::process::{Core, Process};

/// The settings file that is taken where none is named.
const SETTINGS: &str = "tallybook.toml";

/// A server that runs. It ends with this value.
#[derive(Debug)]
pub(super) struct Started {
    process: Process,
    /// Its database, which goes after it.
    _folder: TempDir,
}

impl Started {
    /// Starts the program. Without `has_settings` the demo model answers.
    pub(super) fn new(program: &Path, mode: Mode, has_settings: bool, tools: &str) -> Result<Self> {
        // It is started in a folder of its own.
        let program = program.canonicalize().with_context(|| format!("there is no program {}", program.display()))?;
        let folder = tempfile::tempdir().context("cannot make a folder")?;
        let servers = folder.path().join("servers.json");
        let server = json!({ "mcpServers": { SERVER: { "url": tools, "risk": "low" } } });
        fs::write(&servers, server.to_string()).context("cannot write the settings")?;
        let mut command = Command::new(program);
        command.current_dir(folder.path());
        if has_settings {
            let named = env::var_os("CONFIG_FILE").filter(|name| !name.is_empty());
            let file = named.unwrap_or_else(|| SETTINGS.into());
            if let Ok(file) = Path::new(&file).canonicalize() {
                command.env("CONFIG_FILE", file);
            }
        } else {
            command.env("CONFIG_FILE", "").env("LLM_PROVIDER", "demo");
        }
        command
            .env("HOST", "127.0.0.1")
            .env("PORT", "0")
            .env("ACCOUNTS", "off")
            .env("DATABASE_URL", format!("sqlite://{}", folder.path().join("tallybook.db").display()))
            .env("MCP_SERVERS_FILE", servers)
            .env("LLM_TITLES", "false")
            .env("LLM_TOOL_MODE", mode.tool_mode())
            .env("DEMO_PACE_MS", "0")
            .env("RUST_LOG", "error");
        Ok(Self { process: Process::start(&command, Core::Others)?, _folder: folder })
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.process.address)
    }
}
