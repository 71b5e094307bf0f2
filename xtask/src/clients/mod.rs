//! `cargo xtask clients`: real programs of other people's, set up in the versions that are written down and run against a
//! running Tallybook. What each does and claims stands in `e2e/clients/NAME`; here is which there are, what they run on, and
//! how they went. A new one is a line of [`CLIENTS`] and a function that runs it on a [`Stage`].

mod run;
mod schemathesis;
pub(crate) mod stage;

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use self::stage::{Accounts, Stage};
use crate::{build, conformance, progress::say};

/// A program that is tried.
struct Client {
    /// What it is called, as is its folder in `e2e/clients`, where it has one.
    name: &'static str,
    /// Whether `cargo xtask test` tries it as well.
    is_quick: bool,
    /// Whether people sign in where it is tried, so that it needs a key.
    accounts: Accounts,
    /// Sets it up, runs it, and fails where it does.
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

/// How long most programs may run, which take seconds.
const USUAL: Duration = Duration::from_mins(3);

/// What `cargo xtask clients` can be told.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Try only these programs
    names: Vec<String>,
}

/// Builds what is tried, and tries the programs one after another.
pub(crate) fn run(options: &Options) -> Result<()> {
    let chosen = chosen(&options.names)?;
    build::without_page()?;
    try_all(&chosen)
}

/// Tries the programs that are quick, with what is built already.
pub(crate) fn run_quick() -> Result<()> {
    try_all(&CLIENTS.iter().filter(|client| client.is_quick).collect::<Vec<_>>())
}

/// The wanted ones, or all when none is named.
fn chosen(wanted: &[String]) -> Result<Vec<&'static Client>> {
    if let Some(unknown) = wanted.iter().find(|name| CLIENTS.iter().all(|client| client.name != **name)) {
        bail!(
            "there is no client {unknown:?}; choose from {}",
            CLIENTS.each_ref().map(|client| client.name).join(", ")
        );
    }
    let is_wanted = |client: &&Client| wanted.is_empty() || wanted.iter().any(|name| name == client.name);
    Ok(CLIENTS.iter().filter(is_wanted).collect())
}

/// Tries them all, whatever becomes of one, and says at the end how each went.
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
            Ok(()) => "all as it should be".to_owned(),
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
        bail!("not all is well with {}", failed.join(", "));
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
        assert!(error.starts_with("there is no client \"no_such_client\"; choose from openai-node"), "{error}");
    }
}
