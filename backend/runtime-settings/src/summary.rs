//! Describes what admins have added and changed, for the command `check-config --database`.

use std::fmt::Write as _;

use tallybook_conversations::models::Catalog;
use tallybook_database::Database;
use tallybook_protocol::{CurrentServerSettings, Group};

use crate::{
    budget_store, budgets::describe, configured::Configured, error::SettingsError, group_store, kind::EntryKind,
    seal::Sealer, server_settings::read_settings, store,
};

/// Describes the models, tool servers, groups, budgets and settings that servers of this database use beside the
/// configured ones, one line each. `models` are the configured models.
pub async fn summarize(
    db: &Database,
    sealer: &Sealer,
    configured: &Configured,
    models: &Catalog,
) -> Result<String, SettingsError> {
    let mut lines = "  database:\n".to_owned();
    let mut usable_models = Vec::new();
    for entry in store::list(db).await? {
        let Some(kind) = EntryKind::ALL.into_iter().find(|kind| kind.as_str() == entry.kind) else { continue };
        let name = &entry.row.name;
        let opened = entry.sealed.as_ref().map(|sealed| sealer.open(sealed, &kind.seal_context(name)));
        let problem = configured.hidden(kind, name).or_else(|| Some(opened?.err()?.to_string()));
        if problem.is_none() && kind == EntryKind::Model {
            usable_models.push(format!("{name:?}"));
        }
        let problem = problem.map(|problem| format!(" It is not used: {problem}")).unwrap_or_default();
        // Writing to a string does not fail.
        let _ = writeln!(lines, "    The {kind} {name:?} was added in the page.{problem}");
    }
    for Group { name, origin, members, grants, .. } in group_store::list(db).await? {
        let (origin, grants) =
            (origin.as_str(), if grants.is_empty() { "nothing".to_owned() } else { grants.join(", ") });
        let _ = writeln!(lines, "    The group {name:?} ({origin}, members: {members}) is granted {grants}.");
    }
    for budget in budget_store::list(db).await? {
        let _ = writeln!(lines, "    budget {}", describe(&budget));
    }
    let CurrentServerSettings { settings, changed, set_in_file, mut problems, .. } =
        read_settings(db, configured, models).await?;
    for (name, value) in settings.to_map() {
        let origin = if set_in_file.contains(&name) {
            " (settings file or environment)"
        } else if changed.contains(&name) {
            " (changed in the page)"
        } else {
            ""
        };
        let _ = writeln!(lines, "    {name} = {value}{origin}");
    }
    // Without starting the server, the added models are not in the catalog.
    problems.retain(|problem| !usable_models.iter().any(|name| problem.contains(name)));
    for problem in problems {
        let _ = writeln!(lines, "    {problem}");
    }
    Ok(lines)
}
