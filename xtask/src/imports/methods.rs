//! Methods that a file adds to another file's type. Whoever calls one needs that file, and no `use` says so.

use std::collections::BTreeMap;

use super::{
    resolve::Place,
    tree::{Call, Method, ModuleId, Tree},
};

/// Such methods, with the module that each is in, by name.
///
/// Which type a call is for only the compiler knows, so these are the methods whose name no other of ours has, and a call
/// must have their number of arguments and be where they can be seen: the standard library has methods, too.
pub(super) struct Added<'a>(BTreeMap<&'a str, (ModuleId, &'a Method)>);

impl<'a> Added<'a> {
    /// The methods of that kind in all crates.
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

    /// The module with the method that is called in another.
    pub(super) fn called(&self, tree: &Tree, at: ModuleId, call: &Call) -> Option<ModuleId> {
        let (id, method) = *self.0.get(call.name.as_str())?;
        let fits = call.arguments.is_none_or(|arguments| arguments == method.arguments);
        let is_seen = method.within.is_none_or(|within| at == within || tree.outside(at).any(|outer| outer == within));
        (fits && is_seen).then_some(id)
    }
}

/// Whether the method's type is defined in another file.
fn is_elsewhere(tree: &Tree, id: ModuleId, method: &Method) -> bool {
    let Some(of) = &method.of else { return false };
    tree.find(id, of).iter().any(|place| match place {
        Place::Item { module, .. } => tree.modules[*module].file != tree.modules[id].file,
        Place::Module(_) => false,
    })
}
