//! The crates whose imports are drawn, as cargo knows them.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::shell;

/// A library or program: where its module tree begins.
pub(super) struct Root {
    /// By which name others import it; programs have none.
    pub(super) name: Option<String>,
    pub(super) file: PathBuf,
}

/// What cargo knows of the workspace.
pub(super) fn metadata() -> Result<Value> {
    let output = shell::cargo().args(["metadata", "--no-deps", "--format-version", "1"]).output()?;
    if !output.status.success() {
        bail!("`cargo metadata` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    serde_json::from_slice(&output.stdout).context("cannot read what `cargo metadata` says")
}

/// Every library and program of the workspace, by the folder at its top that they lie in. Those of one folder are looked at
/// together, since what goes from one folder to another is Cargo's to keep.
pub(super) fn by_folder(workspace: &Path, metadata: &Value) -> Result<BTreeMap<PathBuf, Vec<Root>>> {
    let mut folders: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let targets = array(&metadata["packages"]).flat_map(|package| array(&package["targets"]));
    for root in targets.filter_map(root) {
        let place = root.file.strip_prefix(workspace).ok().and_then(|file| file.iter().next());
        let folder = place.with_context(|| format!("{} is not in the workspace", root.file.display()))?;
        folders.entry(folder.into()).or_default().push(root);
    }
    Ok(folders)
}

/// What a target of cargo's is to us; tests, benches and build scripts are nothing.
fn root(target: &Value) -> Option<Root> {
    let kinds: Vec<_> = array(&target["kind"]).filter_map(Value::as_str).collect();
    let name = if kinds.iter().any(|kind| kind.ends_with("lib")) {
        Some(target["name"].as_str()?.replace('-', "_"))
    } else if kinds.contains(&"bin") {
        None
    } else {
        return None;
    };
    Some(Root { name, file: target["src_path"].as_str()?.into() })
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
