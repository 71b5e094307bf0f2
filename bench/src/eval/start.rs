//! Starts a server for a mode. If a model is named, the server uses the user's settings, otherwise the demo model. It
//! has the tools of the tasks and a new database.

use std::{env, fs, path::Path, process::Command};

use anyhow::{Context as _, Result};
use serde_json::json;
use tempfile::TempDir;

use super::{mode::Mode, task::SERVER};
use crate::process::{Core, Process};

/// Path of the settings file if none is named.
const SETTINGS: &str = "tallybook.toml";

/// A running server. Dropping this ends it.
#[derive(Debug)]
pub(super) struct Started {
    process: Process,
    /// Folder of its database, deleted after the server ends.
    _folder: TempDir,
}

impl Started {
    /// Starts the program. Without `has_settings`, the demo model answers.
    pub(super) fn new(program: &Path, mode: Mode, has_settings: bool, tools: &str) -> Result<Self> {
        // The program runs in a new folder, so its path must be absolute.
        let program =
            program.canonicalize().with_context(|| format!("cannot find the program {}", program.display()))?;
        let folder = tempfile::tempdir().context("cannot create a folder")?;
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
