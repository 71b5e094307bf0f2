//! Reads all modules of crates, starting with their root files.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};
use syn::visit::Visit as _;

use super::{
    cfg::is_in_program,
    crates::Root,
    read::{Declared, Reader},
    tree::Tree,
};

/// Reads the crates. File names are relative to `folder`.
pub(super) fn load(folder: &Path, roots: &[Root]) -> Result<Tree> {
    let mut tree = Tree::default();
    let mut waiting = Vec::new();
    for root in roots {
        let module = tree.add(None);
        if let Some(name) = &root.name {
            tree.libraries.insert(name.clone(), module);
        }
        waiting.push(Declared { module, files: vec![root.file.clone()], owns_folder: true });
    }
    while let Some(declared) = waiting.pop() {
        waiting.extend(read_file(&mut tree, folder, &declared)?);
    }
    Ok(tree)
}

/// Reads a module's file, and returns the modules in it that have files of their own.
fn read_file(tree: &mut Tree, folder: &Path, declared: &Declared) -> Result<Vec<Declared>> {
    let file = declared.files.iter().find(|file| file.is_file()).with_context(|| {
        let tried: Vec<_> = declared.files.iter().map(|file| file.display().to_string()).collect();
        format!("a module has no file at {}", tried.join(" or "))
    })?;
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let syntax = syn::parse_file(&text).with_context(|| format!("cannot parse {}", file.display()))?;
    let name = name(folder, file);
    if tree.outside(declared.module).any(|outer| tree.modules[outer].file == name) {
        bail!("{} declares itself as a module", file.display());
    }
    tree.modules[declared.module].file = name;
    if !is_in_program(&syntax.attrs) {
        return Ok(Vec::new());
    }
    let mut reader = Reader::new(tree, declared.module, file, declared.owns_folder);
    reader.visit_file(&syntax);
    Ok(reader.waiting)
}

/// Returns the name of a file: `backend/server/http/mod.rs` for `backend/server/src/http/mod.rs`.
fn name(folder: &Path, file: &Path) -> String {
    let parts = file.strip_prefix(folder).unwrap_or(file).components();
    let parts = parts.filter(|part| part.as_os_str() != "src");
    parts.collect::<PathBuf>().to_string_lossy().replace('\\', "/")
}
