//! Methods that a file adds to a type of another file. A file that calls such a method needs it, but no `use` shows
//! that.

use std::collections::BTreeMap;

use super::{
    resolve::Place,
    tree::{Call, Method, ModuleId, Tree},
};

/// Such methods, with their modules, by name.
///
/// Only the compiler knows which type a call is for. So this has only methods whose name is unique in the crates. The
/// standard library may have a method of the same name. So a call must also have the right number of arguments, and be
/// where the method is visible.
pub(super) struct Added<'a>(BTreeMap<&'a str, (ModuleId, &'a Method)>);

impl<'a> Added<'a> {
    /// Returns such methods of all crates.
    pub(super) fn to(tree: &'a Tree) -> Self {
        let mut named: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (id, module) in tree.modules.iter().enumerate() {
            for method in &module.methods {
                named.entry(method.name.as_str()).or_default().push((id, method));
            }
        }
        let alone = named.into_iter().filter_map(|(name, methods)| match methods.as_slice() {
            [(id, method)] if is_elsewhere(tree, *id, method) => Some((name, (*id, *method))),
            _ => None,
        });
        Self(alone.collect())
    }

    /// Returns the module of the method that is called in the module `at`, if there is one.
    pub(super) fn called(&self, tree: &Tree, at: ModuleId, call: &Call) -> Option<ModuleId> {
        let (id, method) = *self.0.get(call.name.as_str())?;
        let fits = call.arguments.is_none_or(|arguments| arguments == method.arguments);
        let is_seen = method.within.is_none_or(|within| at == within || tree.outside(at).any(|outer| outer == within));
        (fits && is_seen).then_some(id)
    }
}

/// Returns `true` if the method's type is defined in another file.
fn is_elsewhere(tree: &Tree, id: ModuleId, method: &Method) -> bool {
    let Some(of) = &method.of else { return false };
    tree.find(id, of).iter().any(|place| match place {
        Place::Item { module, .. } => tree.modules[*module].file != tree.modules[id].file,
        Place::Module(_) => false,
    })
}
