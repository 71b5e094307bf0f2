//! Merges what admins have added and changed with the configuration, without starting a server: for the command
//! `check-config --database`.

use std::collections::HashMap;

use tallybook_conversations::{
    BudgetOwner,
    models::{Catalog, ModelEntry},
};
use tallybook_database::Database;
use tallybook_mcp::ToolServerSettings;
use tallybook_protocol::{Budget, CurrentServerSettings, Group, ModelFields, ToolServerFields};

use crate::{
    budget_store, configured::Configured, error::SettingsError, group_store, kind::EntryKind,
    model_source::ModelSource, seal::Sealer, server_settings::read_settings, service::read_entry, settings_store,
    store, tool_server_source::ToolServerSource,
};

/// Billionths in one unit of the currency of the prices.
const NANOS: i64 = 1_000_000_000;

/// The settings that servers of a database use.
pub struct MergedSettings {
    /// Name of the default model.
    pub default_model: String,
    /// The added models.
    pub models: Vec<AddedModel>,
    /// The added tool servers.
    pub tool_servers: Vec<AddedToolServer>,
    /// The groups, one line each.
    pub groups: Vec<String>,
    /// The budgets, one line each.
    pub budgets: Vec<String>,
    /// The settings of the server with their origins, one line each.
    pub settings: Vec<String>,
    /// Sentences about settings that have no effect.
    pub problems: Vec<String>,
}

/// A model that an admin added in the page.
pub struct AddedModel {
    /// The settings.
    pub fields: ModelFields,
    /// The model; `None` if its settings cannot be used.
    pub entry: Option<ModelEntry>,
    /// The reason why it is not used.
    pub problem: Option<String>,
}

/// A tool server that an admin added in the page.
pub struct AddedToolServer {
    /// The settings.
    pub fields: ToolServerFields,
    /// The tool server; `None` if its settings cannot be used.
    pub settings: Option<ToolServerSettings>,
    /// The reason why it is not used.
    pub problem: Option<String>,
}

/// Reads what admins have added and changed, and merges it with the configuration. `models` are the configured models,
/// to which the added ones are added.
pub async fn merge_stored(
    db: &Database,
    sealer: &Sealer,
    configured: &Configured,
    models: &Catalog,
) -> Result<MergedSettings, SettingsError> {
    let (mut added_models, mut added_servers, mut usable) = (Vec::new(), Vec::new(), Vec::new());
    for stored in store::list(db).await? {
        if stored.kind == EntryKind::Model.as_str() {
            let read = |fields: &ModelFields, key: Option<&_>| {
                ModelSource::read(models, &configured.model_defaults, fields, key)
            };
            let entry = read_entry(sealer, EntryKind::Model, &stored.row, stored.sealed.as_ref(), read);
            let problem = configured.problem(EntryKind::Model, &stored.row.name, &entry.source);
            let problem = problem.map(|problem| problem.to_string());
            let source = entry.source.ok();
            usable.extend(source.as_ref().map(|source| source.model.clone()));
            let entry_of_source = source.map(|source| source.entry);
            added_models.push(AddedModel { fields: entry.fields, entry: entry_of_source, problem });
        } else if stored.kind == EntryKind::ToolServer.as_str() {
            let (kind, read) = (EntryKind::ToolServer, ToolServerSource::read);
            let entry = read_entry(sealer, kind, &stored.row, stored.sealed.as_ref(), read);
            let problem = configured.problem(kind, &stored.row.name, &entry.source);
            let problem = problem.map(|problem| problem.to_string());
            let settings = entry.source.ok().map(|source| source.settings);
            added_servers.push(AddedToolServer { fields: entry.fields, settings, problem });
        }
    }
    let (changed, _) = settings_store::list(db).await?;
    models.set_added(usable, changed.get("default_model").and_then(serde_json::Value::as_str));
    let groups = group_store::list(db).await?;
    let budgets = describe_budgets(db, &groups).await?;
    let CurrentServerSettings { settings, changed, set_in_file, problems, .. } =
        read_settings(db, configured, models).await?;
    let settings = settings.to_map().into_iter().map(|(name, value)| {
        let origin = if set_in_file.contains(&name) {
            "file or environment"
        } else if changed.contains(&name) {
            "changed in the page"
        } else {
            "default"
        };
        format!("{name} = {value} ({origin})")
    });
    Ok(MergedSettings {
        default_model: models.default_model().name().to_owned(),
        models: added_models,
        tool_servers: added_servers,
        groups: groups.iter().map(describe_group).collect(),
        budgets,
        settings: settings.collect(),
        problems,
    })
}

fn describe_group(Group { name, origin, members, grants, .. }: &Group) -> String {
    let members = if *members == 1 { "1 member".to_owned() } else { format!("{members} members") };
    let grants = if grants.is_empty() { "nothing".to_owned() } else { grants.join(", ") };
    format!("{name:?} ({}, {members}) is granted {grants}", origin.as_str())
}

async fn describe_budgets(db: &Database, groups: &[Group]) -> Result<Vec<String>, SettingsError> {
    let group_names: HashMap<i64, &str> = groups.iter().map(|group| (group.id, group.name.as_str())).collect();
    let mut lines = Vec::new();
    for budget in budget_store::list(db).await? {
        let owner = match BudgetOwner::parse(&budget.principal) {
            Some(BudgetOwner::All) => Some("all users together".to_owned()),
            Some(BudgetOwner::Group(id)) => group_names.get(&id.0).map(|name| format!("the group {name:?}")),
            Some(BudgetOwner::User(id)) => {
                budget_store::find_user_name(db, id).await?.map(|name| format!("the user {name:?}"))
            }
            None => None,
        };
        lines.push(describe_budget(&budget, &owner.unwrap_or_else(|| budget.principal.clone())));
    }
    Ok(lines)
}

fn describe_budget(budget: &Budget, owner: &str) -> String {
    let Budget { period, tokens, cost_nanos, warn_at, .. } = budget;
    let tokens = tokens.map(|tokens| format!("{tokens} tokens"));
    let money = cost_nanos.map(|nanos| format!("{} in the currency of the prices", decimal(nanos)));
    let amounts: Vec<String> = tokens.into_iter().chain(money).collect();
    format!("{owner}, each {}: {}, with a warning at {:.0} %", period.as_str(), amounts.join(" and "), warn_at * 100.0)
}

/// Returns an amount of money as a decimal number.
fn decimal(nanos: i64) -> String {
    let text = format!("{}.{:09}", nanos / NANOS, nanos % NANOS);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::decimal;

    #[test]
    fn money_is_written_as_a_decimal_number() {
        for (nanos, text) in [(50_000_000_000, "50"), (1_500_000_000, "1.5"), (1, "0.000000001"), (0, "0")] {
            assert_eq!(decimal(nanos), text);
        }
    }
}
