//! `tallybook admin`: commands with which an operator manages the server's data from a terminal. All but `restore` also
//! work while the server runs.

use std::{
    fmt::Write as _,
    io::{BufRead as _, Read as _, Write as _},
    path::Path,
    time::Duration,
};

use anyhow::Context as _;
use tallybook::{
    config::{AdminTask, Settings},
    consistency,
};
use tallybook_accounts::{Accounts, Password};
use tallybook_conversations::{Deleted, models::Catalog};
use tallybook_database::Database;
use tallybook_files::{FileLine, Files, Overview, StorageUrl, UserTotal};
use tallybook_protocol::{KeyInfo, User};
use tallybook_runtime_settings::{MergedSettings, Sealer, read_retention};

/// Maximum length of the line that contains a password, in bytes. Longer passwords are refused anyway.
const MAX_LINE_BYTES: u64 = 4096;

const SECS_PER_DAY: u64 = 24 * 60 * 60;

/// Runs the task and returns the text to print.
pub(crate) fn run(settings: &Settings, task: AdminTask) -> anyhow::Result<String> {
    let may_be_missing = match task {
        AdminTask::Create { .. } => true,
        // Without the server's variables, the command would restore into a folder that no server uses.
        AdminTask::Restore { .. } => settings.is_database_named,
        _ => false,
    };
    if !may_be_missing {
        check_exists(settings)?;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match task {
        AdminTask::Create { name, password_stdin } => {
            let password = password(password_stdin)?;
            let create = async |accounts: Accounts| accounts.create_admin(&name, password).await;
            runtime.block_on(with_accounts(settings, create))??;
            Ok(format!("The admin {} can sign in.\n", name.trim().to_lowercase()))
        }
        AdminTask::Users => {
            let list = async |accounts: Accounts| accounts.list_all_users().await;
            Ok(users_table(&runtime.block_on(with_accounts(settings, list))??))
        }
        AdminTask::Password { name, password_stdin, revoke_keys } => {
            let password = password(password_stdin)?;
            let reset = async |accounts: Accounts| accounts.reset_password(&name, password, revoke_keys).await;
            runtime.block_on(with_accounts(settings, reset))??;
            let keys = if revoke_keys { " The user's API keys are revoked." } else { "" };
            Ok(format!(
                "The password of {} is changed, and the user is signed out everywhere.{keys}\n",
                name.trim().to_lowercase()
            ))
        }
        AdminTask::Erase { name, yes } => {
            if !yes {
                confirm_erasure(&name)?;
            }
            runtime.block_on(erase(settings, &name))
        }
        AdminTask::Backup { file } => runtime.block_on(back_up(settings, &file)),
        AdminTask::Restore { file } => runtime.block_on(restore(settings, &file)),
        AdminTask::Check => runtime.block_on(check(settings)),
        AdminTask::Files { user } => runtime.block_on(list_files(settings, user.as_deref())),
        AdminTask::Keys { revoke: None } => {
            let list = async |accounts: Accounts| accounts.list_all_keys().await;
            Ok(keys_table(&runtime.block_on(with_accounts(settings, list))??))
        }
        AdminTask::Keys { revoke: Some(id) } => {
            let revoke = async |accounts: Accounts| accounts.revoke_any_key(id).await;
            runtime.block_on(with_accounts(settings, revoke))??;
            Ok(format!("The API key {id} is revoked.\n"))
        }
        AdminTask::Retention { purge } => runtime.block_on(retention(settings, purge)),
    }
}

fn check_exists(settings: &Settings) -> anyhow::Result<()> {
    let Some(file) = settings.database_url.missing_file() else { return Ok(()) };
    anyhow::bail!(
        "the database {} does not exist. Run this command in the folder in which the server runs, or set DATABASE_URL.",
        file.display()
    );
}

/// Runs `work` on the accounts without taking the database lock. A running server holds that lock if its database is
/// embedded, but the lock only marks the running turns as its own. Changing accounts at the same time is safe.
async fn with_accounts<T>(settings: &Settings, work: impl AsyncFnOnce(Accounts) -> T) -> anyhow::Result<T> {
    let db = Database::connect(&settings.database_url).await?;
    let done = work(Accounts::new(db.clone(), settings.accounts.clone())).await;
    db.close().await;
    Ok(done)
}

fn users_table(users: &[User]) -> String {
    let widest = users.iter().map(|user| user.name.chars().count()).max().unwrap_or_default();
    let mut table = String::new();
    for user in users {
        let deactivated = user.deactivated_at.map(|at| format!("  deactivated {}", at.format("%Y-%m-%d")));
        let _ = writeln!(
            table,
            "{:widest$}  {:5}  since {}{}",
            user.name,
            user.role.as_str(),
            user.created_at.format("%Y-%m-%d"),
            deactivated.unwrap_or_default()
        );
    }
    table
}

fn keys_table(keys: &[(String, KeyInfo)]) -> String {
    let widest = |length: fn(&(String, KeyInfo)) -> usize| keys.iter().map(length).max().unwrap_or_default();
    let user_width = widest(|(user, _)| user.chars().count());
    let id_width = widest(|(_, key)| key.id.to_string().len());
    let mut table = String::new();
    for (user, key) in keys {
        let used =
            key.last_used_at.map_or("never used".to_owned(), |at| format!("last used {}", at.format("%Y-%m-%d")));
        let _ = writeln!(
            table,
            "{:id_width$}  {user:user_width$}  {}…  since {}  {used:20}  {}",
            key.id,
            key.prefix,
            key.created_at.format("%Y-%m-%d"),
            key.name,
        );
    }
    table
}

/// Merges the models, tool servers and settings that admins have set in the page with those of `settings`, for
/// `check-config --database`.
pub(crate) fn merge_stored(settings: &Settings) -> anyhow::Result<MergedSettings> {
    check_exists(settings)?;
    let url = &settings.database_url;
    let merge = async {
        let db = Database::connect(url).await?;
        let work = async {
            let sealer = Sealer::new(settings.secret_key.as_ref(), url.is_embedded(), url.key_file())?;
            let models = Catalog::connect(&settings.models)?;
            anyhow::Ok(tallybook_runtime_settings::merge_stored(&db, &sealer, &settings.configured(), &models).await?)
        };
        let merged = work.await;
        db.close().await;
        merged
    };
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(merge)
}

/// Reports how many deleted conversations are retained. With `purge`, first purges those that are due.
async fn retention(settings: &Settings, purge: bool) -> anyhow::Result<String> {
    let db = Database::connect(&settings.database_url).await?;
    let work = async {
        let (configured, models) = (settings.configured(), Catalog::connect(&settings.models)?);
        let kept_for = read_retention(&db, &configured, &models).await?;
        let before = tallybook_conversations::count_deleted(&db, kept_for).await?;
        if !purge {
            return Ok((kept_for, before, None));
        }
        tallybook_conversations::purge_all_due(&db, kept_for).await?;
        let after = tallybook_conversations::count_deleted(&db, kept_for).await?;
        anyhow::Ok((kept_for, before, Some(after)))
    };
    let counted = work.await;
    db.close().await;
    let (kept_for, before, after) = counted?;
    let Deleted { kept, due, due_calls, oldest } = after.unwrap_or(before);
    let mut text = format!(
        "Retention time of deleted conversations: {} (RETENTION_DAYS, the settings of the server, and budgets).\n",
        time_text(kept_for)
    );
    if let Some(after) = after {
        let _ = writeln!(text, "Purged conversations: {}.", before.kept.saturating_sub(after.kept));
    }
    let oldest = oldest.map(|at| format!("; the oldest was deleted on {}", at.format("%Y-%m-%d")));
    let _ = writeln!(text, "Retained deleted conversations: {kept}{}.", oldest.unwrap_or_default());
    let way = match (due, purge) {
        (0, _) => "",
        (_, true) => {
            " An answer is still being written in them. A running server ends the answers and purges the conversations."
        }
        (_, false) => " A running server purges them within minutes. Use --purge to purge them now.",
    };
    let _ = writeln!(text, "Of these, due for purging: {due}, with {due_calls} tool calls.{way}");
    Ok(text)
}

/// Returns a time as text: in days, or in seconds if it is shorter than a day.
fn time_text(time: Duration) -> String {
    match time.as_secs() {
        0 => "none".to_owned(),
        secs @ ..SECS_PER_DAY => format!("{secs} seconds"),
        SECS_PER_DAY => "1 day".to_owned(),
        secs => format!("{} days", secs / SECS_PER_DAY),
    }
}

/// Asks the operator to repeat the name. Fails if the answer is another one.
fn confirm_erasure(name: &str) -> anyhow::Result<()> {
    let question = format!(
        "This permanently erases the account {} and all its conversations, keys and links. There is no undo.\n\
         Type the name to confirm: ",
        name.trim()
    );
    std::io::stderr().write_all(question.as_bytes())?;
    let is_confirmed = first_line()?.trim() == name.trim();
    anyhow::ensure!(is_confirmed, "nothing is erased: the confirmation differs from the name. Use --yes to skip it.");
    Ok(())
}

async fn erase(settings: &Settings, name: &str) -> anyhow::Result<String> {
    let db = Database::connect(&settings.database_url).await?;
    let accounts = Accounts::new(db.clone(), settings.accounts.clone());
    let work = async {
        let files = Files::new(db.clone(), settings.files.clone())?;
        files.check_erasable().await?;
        let user = accounts.begin_erasure(name).await?;
        let conversations = tallybook_conversations::erase_conversations(&db, user).await?;
        files.erase(user).await?;
        Ok::<_, anyhow::Error>((conversations, accounts.finish_erasure(user).await?))
    };
    let erased = work.await;
    db.close().await;
    let (conversations, pseudonym) = erased?;
    Ok(format!(
        "Erased {}: the account and {conversations} conversations. The audit log and the statistics call the user \
         {pseudonym}.\n",
        name.trim()
    ))
}

async fn back_up(settings: &Settings, file: &Path) -> anyhow::Result<String> {
    tallybook_database::back_up(&settings.database_url, file).await?;
    let mut text = format!("The backup is written to {}.\n", file.display());
    if settings.files.storage != StorageUrl::Database {
        let _ = writeln!(
            text,
            "It does not contain the content of uploaded files. Back up FILES_URL next: {}.",
            settings.files.storage
        );
    }
    Ok(text)
}

async fn restore(settings: &Settings, file: &Path) -> anyhow::Result<String> {
    let kept = tallybook_database::restore(&settings.database_url, file).await?;
    let kept = kept.map(|kept| format!(" The previous database is kept in {}.", kept.display()));
    Ok(format!("The database is restored from {}.{}\n", file.display(), kept.unwrap_or_default()))
}

async fn check(settings: &Settings) -> anyhow::Result<String> {
    let db = Database::connect(&settings.database_url).await?;
    let check = async {
        let mut found = consistency::check(&db).await?;
        found.extend(Files::new(db.clone(), settings.files.clone())?.check().await?);
        Ok::<_, anyhow::Error>(found)
    };
    let found = check.await;
    db.close().await;
    let found = found?;
    anyhow::ensure!(found.is_empty(), "the database is inconsistent:\n  {}", found.join("\n  "));
    Ok(format!("The database is consistent. Rules checked: {}.\n", consistency::count_rules()))
}

/// Reports the totals of files. With `user`, lists that user's files instead.
async fn list_files(settings: &Settings, user: Option<&str>) -> anyhow::Result<String> {
    let db = Database::connect(&settings.database_url).await?;
    let work = async {
        let files = Files::new(db.clone(), settings.files.clone())?;
        match user {
            Some(name) => Ok::<_, anyhow::Error>(files_table(&files.list_of_name(&name.trim().to_lowercase()).await?)),
            None => Ok(files_text(&files.overview().await?)),
        }
    };
    let text = work.await;
    db.close().await;
    text
}

fn files_table(files: &[FileLine]) -> String {
    let mut table = String::new();
    for FileLine { uuid, name, media_type, bytes, created_at, uses } in files {
        let use_text = if *uses == 0 { "unused".to_owned() } else { format!("used {uses} times") };
        let date = created_at.format("%Y-%m-%d");
        let _ = writeln!(table, "{uuid}  since {date}  {bytes:>10} bytes  {media_type}  {use_text}  {name}");
    }
    table
}

fn files_text(overview: &Overview) -> String {
    let Overview { users, contents, unused_contents, orphans } = overview;
    let widest = users.iter().map(|user| user.name.chars().count()).max().unwrap_or_default();
    let mut text = String::new();
    for UserTotal { name, files, bytes, unused } in users {
        let _ = writeln!(text, "{name:widest$}  {files:>6} files  {bytes:>12} bytes  {unused} unused");
    }
    let _ = writeln!(text, "Stored contents: {}, with {} bytes.", contents.0, contents.1);
    let (count, bytes) = unused_contents;
    let _ =
        writeln!(text, "Contents that no file refers to: {count}, with {bytes} bytes. A running server purges them.");
    let _ = writeln!(text, "Objects in FILES_URL that belong to no file: {orphans}.");
    text
}

fn password(from_stdin: bool) -> anyhow::Result<Password> {
    Ok(Password::new(if from_stdin { first_line()? } else { asked()? }))
}

fn first_line() -> anyhow::Result<String> {
    let mut line = String::new();
    std::io::stdin().lock().take(MAX_LINE_BYTES).read_line(&mut line)?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

fn asked() -> anyhow::Result<String> {
    let no_terminal = "cannot prompt for the password without a terminal; use --password-stdin and send it on the \
                       first line of standard input";
    let password = rpassword::prompt_password("Password: ").context(no_terminal)?;
    anyhow::ensure!(
        password == rpassword::prompt_password("Repeat the password: ")?,
        "the two passwords are different"
    );
    Ok(password)
}
