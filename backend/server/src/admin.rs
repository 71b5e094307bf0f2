//! `tallybook admin`: what an operator does to the server's data from a terminal, also while the server runs.

use std::io::{BufRead as _, Read as _};

use tallybook::{
    accounts::{Accounts, Password},
    config::{AdminTask, Settings},
    db::Database,
};

/// The longest line that is read for a password; a longer password is refused anyway.
const MAX_LINE_BYTES: u64 = 4096;

/// Does what is asked for, and gives what there is to say of it.
pub(crate) fn run(settings: &Settings, task: AdminTask) -> anyhow::Result<String> {
    let AdminTask::Create { name, password_stdin } = task;
    let password = if password_stdin { first_line()? } else { asked()? };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(create(settings, &name, Password::new(password)))?;
    Ok(format!("The admin {} can sign in.\n", name.trim().to_lowercase()))
}

/// A server that runs on an embedded database has it locked, which only means that what runs there is its own. An account
/// can be made beside it.
async fn create(settings: &Settings, name: &str, password: Password) -> anyhow::Result<()> {
    let db = Database::connect(&settings.database_url).await?;
    let created = Accounts::new(db.clone(), settings.accounts.clone()).create_admin(name, password).await;
    db.close().await;
    Ok(created?)
}

fn first_line() -> anyhow::Result<String> {
    let mut line = String::new();
    std::io::stdin().lock().take(MAX_LINE_BYTES).read_line(&mut line)?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

fn asked() -> anyhow::Result<String> {
    let password = rpassword::prompt_password("Password: ")?;
    anyhow::ensure!(password == rpassword::prompt_password("Once more: ")?, "the two passwords are not the same");
    Ok(password)
}
