//! The tasks, and the tools that some of them need; both are read from `bench/eval/tasks.toml`.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use tallybook_mock_mcp::ScriptedTool;

use super::check::Check;

/// The tasks file of this program.
const TASKS: &str = include_str!("../../eval/tasks.toml");

/// Name of the tasks' tool server. It prefixes the names of its tools.
pub(super) const SERVER: &str = "lab";

/// A question with the conditions on its answer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// ID, unique among the tasks.
    pub id: String,
    /// Subject of the task, in one word.
    pub category: String,
    /// `en` or `ja`.
    pub language: String,
    /// The message.
    pub ask: String,
    /// Tools that the task needs. Without them the task is skipped.
    #[serde(default)]
    pub needs: Vec<String>,
    /// Conditions on the answer; all of them must be met.
    pub checks: Vec<Check>,
}

/// A tool that a server must have for some tasks.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tool {
    name: String,
    description: String,
    argument: String,
    #[serde(default)]
    answers: BTreeMap<String, String>,
    otherwise: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    tools: Vec<Tool>,
    tasks: Vec<Task>,
}

/// Returns all tasks.
///
/// # Errors
/// Returns an error if the file is not valid; a test excludes that.
pub fn all() -> Result<Vec<Task>> {
    Ok(file()?.tasks)
}

/// Returns the tools of the tasks.
///
/// # Errors
/// Returns an error if the file is not valid; a test excludes that.
pub fn tools() -> Result<Vec<ScriptedTool>> {
    let tool = |Tool { name, description, argument, answers, otherwise }| ScriptedTool {
        name,
        description,
        argument,
        answers,
        otherwise,
    };
    Ok(file()?.tools.into_iter().map(tool).collect())
}

fn file() -> Result<File> {
    toml::from_str(TASKS).context("cannot parse the tasks")
}

/// Returns the tasks whose ID, category, or language is in `only`; all if that is empty.
pub(super) fn choose(mut tasks: Vec<Task>, only: &[String]) -> Vec<Task> {
    tasks.retain(|task| {
        only.is_empty() || only.iter().any(|name| [&task.id, &task.category, &task.language].contains(&name))
    });
    tasks
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{SERVER, all, choose, tools};
    use crate::eval::check::Check;

    #[test]
    fn the_tasks_are_valid() {
        let (tasks, tools) = (all().unwrap(), tools().unwrap());
        assert!((40..=60).contains(&tasks.len()), "{}", tasks.len());
        assert_eq!(tasks.iter().map(|task| &task.id).collect::<BTreeSet<_>>().len(), tasks.len(), "duplicate id");
        let known: BTreeSet<String> = tools.iter().map(|tool| format!("{SERVER}__{}", tool.name)).collect();
        for task in &tasks {
            assert!(["en", "ja"].contains(&task.language.as_str()) && !task.checks.is_empty(), "{}", task.id);
            assert!(task.needs.iter().all(|tool| known.contains(tool)), "{}", task.id);
            for check in &task.checks {
                match check {
                    Check::Calls(tool) | Check::Avoids(tool) => {
                        assert!(task.needs.contains(tool), "{} checks a tool that it does not need", task.id);
                    }
                    Check::Json(json) => {
                        assert!(serde_json::from_str::<serde_json::Value>(json).is_ok(), "{}", task.id);
                    }
                    Check::Number(number) => {
                        assert!(check.complaint(number, &[]).is_none(), "{}: {number} is not a number", task.id);
                        assert!(check.complaint(&task.ask, &[]).is_some(), "{}: the question names {number}", task.id);
                    }
                    Check::Contains(_) | Check::Lacks(_) | Check::Declines(_) => {}
                }
            }
        }
        let needed: BTreeSet<String> = tasks.iter().flat_map(|task| task.needs.clone()).collect();
        assert_eq!(needed, known, "each tool is needed by a task");
    }

    #[test]
    fn tasks_are_chosen_by_id_category_or_language() {
        let count = |only: &[&str]| {
            choose(all().unwrap(), &only.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).len()
        };
        assert_eq!(count(&[]), all().unwrap().len());
        assert_eq!((count(&["sum-en"]), count(&["nothing"])), (1, 0));
        assert!(count(&["ja"]) > 8 && count(&["ja", "en"]) == count(&[]));
    }
}
