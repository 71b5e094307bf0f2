//! Lists the parts of a release: the crates that are compiled into the server and into the page, without tools that
//! only help to build them. There is no JavaScript among them; everything that the page runs is compiled from Rust.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::{
    shell,
    ui::{programs::PROGRAMS, toolchain::TARGET},
};

/// Name and version of a crate.
pub(super) type Id = (String, String);

/// Crates, each with its dependencies.
type Graph = BTreeMap<Id, BTreeSet<Id>>;

/// A third-party crate that is part of the release.
pub(super) struct Part {
    pub(super) name: String,
    pub(super) version: String,
    /// License in its manifest, as an SPDX expression or close to one.
    pub(super) license: String,
    pub(super) repository: String,
    /// Folder of its files.
    pub(super) folder: PathBuf,
    /// The parts that it is compiled with.
    pub(super) needs: BTreeSet<Id>,
    /// `true` if a crate of this workspace depends on it directly.
    pub(super) is_direct: bool,
}

/// Returns all parts, sorted, without the crates of this workspace.
pub(super) fn all() -> Result<Vec<Part>> {
    let mut graph = Graph::new();
    // The tree is that of the whole workspace, because the program is built with the features that this selects.
    add_reached("tallybook", &tree(&["--workspace"])?, &mut graph);
    for program in &PROGRAMS {
        let features = program.features.join(",");
        let tree = tree(&["--package", program.package, "--features", &features, "--target", TARGET])?;
        add_reached(program.package, &tree, &mut graph);
    }
    let metadata = ask(&["metadata", "--locked", "--format-version", "1"])?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let packages = metadata["packages"].as_array().context("cargo metadata names no packages")?;
    let parts = packages.iter().filter(|package| !package["source"].is_null()).map(part);
    let mut parts: Vec<Part> = parts.filter(|part| graph.contains_key(&part.id())).collect();
    parts.sort_by_key(Part::id);
    let ids: BTreeSet<Id> = parts.iter().map(Part::id).collect();
    for part in &mut parts {
        let id = part.id();
        part.needs = graph.get(&id).into_iter().flatten().filter(|needed| ids.contains(*needed)).cloned().collect();
        part.is_direct = graph.iter().any(|(user, needs)| !ids.contains(user) && needs.contains(&id));
    }
    Ok(parts)
}

impl Part {
    /// Returns its name and version.
    pub(super) fn id(&self) -> Id {
        (self.name.clone(), self.version.clone())
    }
}

fn part(package: &Value) -> Part {
    let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
    let mut folder = PathBuf::from(text("manifest_path"));
    folder.pop();
    Part {
        name: text("name"),
        version: text("version"),
        license: text("license"),
        repository: text("repository"),
        folder,
        needs: BTreeSet::new(),
        is_direct: false,
    }
}

fn tree(which: &[&str]) -> Result<String> {
    let how = ["tree", "--locked", "--edges", "normal,no-proc-macro", "--prefix", "depth", "--format", " {p}"];
    ask(&[&how, which].concat())
}

fn ask(arguments: &[&str]) -> Result<String> {
    shell::ask(shell::cargo().args(arguments)).with_context(|| format!("`cargo {}` fails", arguments.join(" ")))
}

/// Adds `root` and the crates that it depends on. Cargo lists the dependencies of a crate only below its first mention,
/// anywhere in the tree.
fn add_reached(root: &str, tree: &str, graph: &mut Graph) {
    let mut below = Graph::new();
    let mut path: Vec<Id> = Vec::new();
    for line in tree.lines() {
        let mut words = line.split_whitespace();
        let (Some(Ok(depth)), Some(name), Some(version)) =
            (words.next().map(str::parse::<usize>), words.next(), words.next())
        else {
            continue;
        };
        let id = (name.to_owned(), version.trim_start_matches('v').to_owned());
        path.truncate(depth);
        if let Some(parent) = path.last() {
            below.entry(parent.clone()).or_default().insert(id.clone());
        }
        path.push(id);
    }
    let mut found = BTreeSet::new();
    let mut open: Vec<Id> = below.keys().filter(|(name, _)| name == root).cloned().collect();
    while let Some(id) = open.pop() {
        if found.insert(id.clone()) {
            let needs = below.get(&id).cloned().unwrap_or_default();
            open.extend(needs.iter().cloned());
            graph.entry(id).or_default().extend(needs);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Graph, add_reached, all};

    #[test]
    fn dependencies_below_a_first_mention_elsewhere_are_found() {
        let tree = "0 helper v0.1.0 (/src)\n1 json v2.0.0\n2 digits v1.0.0\n1 only-helps v1.0.0\n\n\
                    0 program v0.1.0 (/src)\n1 json v2.0.0 (*)\n";
        let mut found = Graph::new();
        add_reached("program", tree, &mut found);
        let names: Vec<_> = found.keys().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["digits", "json", "program"]);
    }

    #[test]
    fn server_and_page_are_parts_and_build_tools_are_not() {
        let parts = all().unwrap();
        let has = |name: &str| parts.iter().any(|part| part.name == name);
        assert!(has("sqlx") && has("leptos") && has("math-core"), "server, page and typesetter");
        assert!(!has("wasm-bindgen-cli-support") && !has("insta") && !has("serde_derive"), "build tools are left out");
        assert!(!has("tallybook"), "ourselves");
    }
}
