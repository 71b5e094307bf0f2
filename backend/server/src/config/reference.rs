//! Tests that `docs/reference/configuration.md` describes every variable, command and flag, and no other.

use std::collections::{BTreeMap, BTreeSet};

use clap::{Arg, Command, CommandFactory as _};

use super::{cli::Options, unknown::READ_BY_NAME};

const REFERENCE: &str = include_str!("../../../../docs/reference/configuration.md");

/// Variables of libraries that the reference describes.
const OF_LIBRARIES: [&str; 10] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_ENDPOINT",
    "AWS_REGION",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "NO_COLOR",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_RESOURCE_ATTRIBUTES",
    "RUST_LOG",
    "TMPDIR",
];

/// Returns the rows of the tables between two headings, as their cells. The names of columns and the lines below them
/// are left out.
fn rows(from: &str, to: &str) -> Vec<Vec<String>> {
    let (_, text) = REFERENCE.split_once(&format!("\n## {from}\n")).unwrap();
    let (text, _) = text.split_once(&format!("\n## {to}\n")).unwrap();
    let cells = |line: &str| {
        let line = line.strip_prefix("| ")?.strip_suffix(" |")?;
        Some(line.split(" | ").map(str::to_owned).collect::<Vec<_>>())
    };
    text.lines().filter_map(cells).filter(|cells| cells[0].starts_with('`')).collect()
}

/// Returns a variable's type, default, example and description by its name. Fails if a variable has two rows.
fn variables() -> BTreeMap<String, [String; 4]> {
    let mut variables = BTreeMap::new();
    for row in rows("Environment variables", "Settings file") {
        let [name, rest @ ..] = <[String; 5]>::try_from(row).expect("five columns");
        let name = name.trim_matches('`').to_owned();
        assert!(variables.insert(name.clone(), rest).is_none(), "{name} has two rows");
    }
    variables
}

fn option(name: &str) -> Option<Arg> {
    Options::command().get_arguments().find(|arg| arg.get_env().is_some_and(|env| *env == *name)).cloned()
}

#[test]
fn the_reference_has_one_row_for_each_variable() {
    let described: BTreeSet<String> = variables().into_keys().collect();
    let options = super::cli::variables().into_iter();
    let existing: BTreeSet<String> =
        options.chain(READ_BY_NAME.iter().chain(&OF_LIBRARIES).map(|&name| name.to_owned())).collect();
    assert_eq!(described, existing);
}

#[test]
fn the_reference_has_the_defaults_of_the_program() {
    for (name, [_, written, ..]) in variables() {
        let option = option(&name);
        let values = option.iter().flat_map(Arg::get_default_values);
        let default = values.map(|value| value.to_string_lossy().into_owned()).collect::<Vec<_>>().join(",");
        if !default.is_empty() {
            assert_eq!(written, format!("`{default}`"), "{name}");
        }
        assert!(!written.is_empty(), "{name}");
    }
}

#[test]
fn the_program_accepts_the_examples_of_the_reference() {
    for (name, [kind, _, example, description]) in variables() {
        assert!(!kind.is_empty() && !description.is_empty(), "{name}");
        let Some(example) = example.strip_prefix('`').and_then(|example| example.strip_suffix('`')) else {
            assert!(example.starts_with("the output of `"), "{name}: {example}");
            continue;
        };
        let Some(option) = option(&name) else { continue };
        let argument = format!("--{}={example}", option.get_long().expect("each variable is an option, too"));
        let parsed = Options::command().try_get_matches_from(["tallybook", &argument]);
        assert!(parsed.is_ok(), "{argument}: {}", parsed.unwrap_err());
    }
}

#[test]
fn the_reference_has_one_row_for_each_command_with_its_flags() {
    fn collect(command: &Command, path: &str, commands: &mut BTreeMap<String, BTreeSet<String>>) {
        for task in command.get_subcommands() {
            let path = format!("{path} {}", task.get_name());
            if task.has_subcommands() {
                collect(task, &path, commands);
            } else {
                let flags = task.get_arguments().filter_map(Arg::get_long).filter(|flag| *flag != "help");
                commands.insert(path, flags.map(|flag| format!("--{flag}")).collect());
            }
        }
    }
    let mut existing = BTreeMap::new();
    collect(&Options::command(), "tallybook", &mut existing);
    let mut described = BTreeMap::new();
    for row in rows("Commands", "Your own system prompt") {
        let [command, description] = <[String; 2]>::try_from(row).expect("two columns");
        // The names of values are in capitals.
        let words = command.trim_matches('`').split(' ').filter(|word| word.chars().all(|c| !c.is_uppercase()));
        let command = words.collect::<Vec<_>>().join(" ");
        let words = description.split(['`', ' ']).filter(|word| word.starts_with("--"));
        let before = described.insert(command.clone(), words.map(str::to_owned).collect());
        assert!(before.is_none(), "{command} has two rows");
    }
    assert_eq!(described, existing);
}
