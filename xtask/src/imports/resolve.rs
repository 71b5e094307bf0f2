//! Resolves a path to the file that defines the item, through every `use` in between.

use std::collections::BTreeSet;

use super::tree::{ModuleId, Path, Tree};

/// The target of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// An item that a module defines.
    Item { module: ModuleId, name: String },
    /// A module.
    Module(ModuleId),
}

/// The lookups in progress, so that a cycle of re-exports ends.
type Pending = Vec<(ModuleId, String)>;

impl Tree {
    /// Resolves a path in the code of the module `at`. There are several results if a name is both a type and a value.
    /// There are none if the path leads outside of the crates. Segments after an item, such as a variant, are ignored.
    pub(super) fn find(&self, at: ModuleId, path: &Path) -> BTreeSet<Place> {
        self.follow(at, path, &mut Pending::new())
    }

    fn follow(&self, at: ModuleId, path: &Path, pending: &mut Pending) -> BTreeSet<Place> {
        let Some((first, rest)) = path.split_first() else { return BTreeSet::new() };
        let mut places = match first.as_str() {
            "crate" => BTreeSet::from([Place::Module(self.modules[at].root)]),
            _ => self.inside(at, first, pending),
        };
        if places.is_empty() {
            places.extend(self.libraries.get(first).copied().map(Place::Module));
        }
        for word in rest {
            // Only a module contains items, so a function with the same name is not meant.
            if places.iter().any(|place| matches!(place, Place::Module(_))) {
                places.retain(|place| matches!(place, Place::Module(_)));
            }
            let found = places.into_iter().flat_map(|place| match place {
                Place::Module(module) => self.inside(module, word, pending),
                item @ Place::Item { .. } => BTreeSet::from([item]),
            });
            places = found.collect();
        }
        places
    }

    /// Resolves one segment within a module.
    fn inside(&self, module: ModuleId, word: &str, pending: &mut Pending) -> BTreeSet<Place> {
        match word {
            "self" => BTreeSet::from([Place::Module(module)]),
            "super" => self.modules[module].parent.map(Place::Module).into_iter().collect(),
            _ => self.look_up(module, word, pending),
        }
    }

    fn look_up(&self, id: ModuleId, name: &str, pending: &mut Pending) -> BTreeSet<Place> {
        let lookup = (id, name.to_owned());
        if pending.contains(&lookup) {
            return BTreeSet::new();
        }
        pending.push(lookup);
        let module = &self.modules[id];
        let mut places: BTreeSet<_> = module.modules.get(name).copied().map(Place::Module).into_iter().collect();
        if module.items.contains(name) {
            places.insert(Place::Item { module: id, name: name.to_owned() });
        }
        for path in module.uses.get(name).into_iter().flatten() {
            places.extend(self.follow(id, path, pending));
        }
        // A name takes precedence over a glob import.
        if places.is_empty() {
            for glob in &module.globs {
                for place in self.follow(id, glob, pending) {
                    if let Place::Module(inner) = place {
                        places.extend(self.look_up(inner, name, pending));
                    }
                }
            }
        }
        pending.pop();
        places
    }
}
