//! The imports between files, and what is calculated from them: cycles and a top-down order.

use std::collections::{BTreeMap, BTreeSet};

use petgraph::{algo::tarjan_scc, prelude::DiGraphMap};

use super::{methods::Added, resolve::Place, tree::Tree};

/// The imports between files.
#[derive(Default)]
pub(super) struct Imports {
    pub(super) files: BTreeSet<String>,
    /// The names that the first file imports from the second.
    pub(super) names: BTreeMap<(String, String), BTreeSet<String>>,
}

impl Imports {
    /// Resolves every name that the files' code uses.
    pub(super) fn of(tree: &Tree) -> Self {
        let mut imports = Self::default();
        let methods = Added::to(tree);
        for (id, module) in tree.modules.iter().enumerate() {
            imports.files.insert(module.file.clone());
            for place in module.named.iter().flat_map(|path| tree.find(id, path)) {
                // A module only qualifies other names; the import is of the item.
                if let Place::Item { module: definer, name } = place {
                    imports.add(&module.file, &tree.modules[definer].file, name);
                }
            }
            for call in &module.calls {
                if let Some(definer) = methods.called(tree, id, call) {
                    imports.add(&module.file, &tree.modules[definer].file, format!(".{}()", call.name));
                }
            }
        }
        imports
    }

    fn add(&mut self, from: &str, to: &str, name: String) {
        if from != to {
            self.names.entry((from.to_owned(), to.to_owned())).or_default().insert(name);
        }
    }

    /// Returns the groups of files that import one another in a cycle.
    pub(super) fn cycles(&self) -> Vec<BTreeSet<&str>> {
        let groups = tarjan_scc(&graph(self.between_files())).into_iter().filter(|group| group.len() > 1);
        let mut cycles: Vec<BTreeSet<_>> = groups.map(BTreeSet::from_iter).collect();
        cycles.sort();
        cycles
    }

    /// Returns the pairs of an importing and an imported file.
    pub(super) fn between_files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.names.keys().map(|(from, to)| (from.as_str(), to.as_str()))
    }

    /// Returns the pairs of an importing and an imported folder.
    pub(super) fn between_folders(&self) -> BTreeSet<(&str, &str)> {
        let folders = self.between_files().map(|(from, to)| (folder(from), folder(to)));
        folders.filter(|(from, to)| from != to).collect()
    }
}

/// Returns the folder of a file, or `.`.
pub(super) fn folder(file: &str) -> &str {
    file.rsplit_once('/').map_or(".", |(folder, _)| folder)
}

/// Returns all names in an order in which each comes before those it imports, unless they are in a cycle.
pub(super) fn from_the_top<'a>(
    all: impl Iterator<Item = &'a str>,
    imports: impl Iterator<Item = (&'a str, &'a str)>,
) -> Vec<&'a str> {
    let mut graph = graph(imports);
    for one in all {
        graph.add_node(one);
    }
    let mut order: Vec<_> = tarjan_scc(&graph).into_iter().flatten().collect();
    order.reverse();
    order
}

fn graph<'a>(imports: impl Iterator<Item = (&'a str, &'a str)>) -> DiGraphMap<&'a str, ()> {
    DiGraphMap::from_edges(imports)
}
