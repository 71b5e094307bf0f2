//! `cargo xtask clients`: installs third-party clients in fixed versions, and runs them against a Tallybook server. The
//! files in `e2e/clients/NAME` define what each client does and asserts. This module lists the clients, runs them, and
//! reports the results. To add one, add a line to [`CLIENTS`] and a function that runs the client on a [`Stage`].

mod run;
mod schemathesis;
pub(crate) mod stage;

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use self::stage::{Accounts, Stage};
use crate::{build, conformance, progress::say};

/// A client to run.
struct Client {
    /// Name of the client, and of its folder in `e2e/clients` if it has one.
    name: &'static str,
    /// `true` if `cargo xtask test` runs it as well.
    is_quick: bool,
    /// Accounts of the server. With accounts, the client needs an API key.
    accounts: Accounts,
    /// Installs and runs the client. Returns an error if the client fails.
    run: fn(&Stage) -> Result<()>,
}

const CLIENTS: [Client; 8] = [
    Client { name: "openai-node", is_quick: true, accounts: Accounts::On, run: |stage| run::typescript(stage, USUAL) },
    Client { name: "ai-sdk", is_quick: true, accounts: Accounts::On, run: |stage| run::typescript(stage, USUAL) },
    Client { name: "langchain", is_quick: false, accounts: Accounts::On, run: |stage| run::python(stage, USUAL) },
    Client { name: "openai-agents", is_quick: false, accounts: Accounts::On, run: |stage| run::python(stage, USUAL) },
    Client { name: "codex", is_quick: false, accounts: Accounts::On, run: run::codex },
    Client { name: "open-webui", is_quick: false, accounts: Accounts::On, run: run::open_webui },
    Client { name: "mcp-conformance", is_quick: false, accounts: Accounts::Off, run: conformance::server },
    Client { name: "schemathesis", is_quick: false, accounts: Accounts::On, run: schemathesis::with_key_and_without },
];

/// Timeout of most clients; they take seconds.
const USUAL: Duration = Duration::from_mins(3);

/// Options of `cargo xtask clients`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Test only these clients
    names: Vec<String>,
}

/// Builds the server, and runs the clients one after another.
pub(crate) fn run(options: &Options) -> Result<()> {
    let chosen = chosen(&options.names)?;
    build::without_page()?;
    try_all(&chosen)
}

/// Runs the quick clients, with the programs that are already built.
pub(crate) fn run_quick() -> Result<()> {
    try_all(&CLIENTS.iter().filter(|client| client.is_quick).collect::<Vec<_>>())
}

/// Returns the wanted clients; all if none is named.
fn chosen(wanted: &[String]) -> Result<Vec<&'static Client>> {
    if let Some(unknown) = wanted.iter().find(|name| CLIENTS.iter().all(|client| client.name != **name)) {
        bail!("unknown client {unknown:?}; choose from {}", CLIENTS.each_ref().map(|client| client.name).join(", "));
    }
    let is_wanted = |client: &&Client| wanted.is_empty() || wanted.iter().any(|name| name == client.name);
    Ok(CLIENTS.iter().filter(is_wanted).collect())
}

/// Runs all clients, even if one fails, and prints the results at the end.
fn try_all(clients: &[&Client]) -> Result<()> {
    let mut failed = Vec::new();
    let mut outcomes = Vec::new();
    for client in clients {
        say(&format!("{}…", client.name));
        let began = Instant::now();
        let outcome = Stage::set(client.name, client.accounts).and_then(|stage| {
            (client.run)(&stage).map_err(|error| error.context(format!("the logs are in {}", stage.logs().display())))
        });
        let seconds = began.elapsed().as_secs();
        let words = match outcome {
            Ok(()) => "passed".to_owned(),
            Err(error) => {
                failed.push(client.name);
                format!("FAILED: {error:#}")
            }
        };
        outcomes.push(format!("{:<16} {seconds:>4} s  {words}", client.name));
    }
    for line in &outcomes {
        say(line);
    }
    if !failed.is_empty() {
        bail!("these clients failed: {}", failed.join(", "));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{CLIENTS, chosen};

    #[test]
    fn clients_are_chosen_by_name() {
        assert_eq!(chosen(&[]).unwrap().len(), CLIENTS.len());
        assert_eq!(chosen(&["openai-node".to_owned()]).unwrap().len(), 1);
        let error = chosen(&["no_such_client".to_owned()]).err().unwrap().to_string();
        assert!(error.starts_with("unknown client \"no_such_client\"; choose from openai-node"), "{error}");
    }
}
