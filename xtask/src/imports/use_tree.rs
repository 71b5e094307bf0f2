//! Flattens `use` trees.

use syn::{Ident, UseTree, ext::IdentExt as _};

use super::tree::Path;

/// Returns each path that a `use` imports, with its name here; `None` for a glob.
pub(super) fn flatten(tree: &UseTree) -> Vec<(Path, Option<String>)> {
    let mut brought = Vec::new();
    collect(tree, &mut Path::new(), &mut brought);
    brought
}

fn collect(tree: &UseTree, before: &mut Path, brought: &mut Vec<(Path, Option<String>)>) {
    match tree {
        UseTree::Path(path) => {
            before.push(text(&path.ident));
            collect(&path.tree, before, brought);
            before.pop();
        }
        UseTree::Name(name) => brought.push(end(before, &name.ident, None)),
        UseTree::Rename(name) => brought.push(end(before, &name.ident, Some(&name.rename))),
        UseTree::Glob(_) => brought.push((before.clone(), None)),
        UseTree::Group(group) => {
            for tree in &group.items {
                collect(tree, before, brought);
            }
        }
    }
}

fn end(before: &Path, last: &Ident, rename: Option<&Ident>) -> (Path, Option<String>) {
    let mut path = before.clone();
    if last != "self" {
        path.push(text(last));
    }
    let name = rename.map(text).or_else(|| path.last().cloned());
    (path, name)
}

/// Returns a name as it is looked up: `type` for `r#type`.
pub(super) fn text(ident: &Ident) -> String {
    ident.unraw().to_string()
}
