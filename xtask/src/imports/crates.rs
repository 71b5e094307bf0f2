//! Lists the crates whose imports are drawn, from cargo's metadata.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::shell;

/// The root of a library or program, where its module tree begins.
pub(super) struct Root {
    /// Name by which other crates import it; programs have none.
    pub(super) name: Option<String>,
    pub(super) file: PathBuf,
}

/// Returns cargo's metadata of the workspace.
pub(super) fn metadata() -> Result<Value> {
    let output = shell::cargo().args(["metadata", "--no-deps", "--format-version", "1"]).output()?;
    if !output.status.success() {
        bail!("`cargo metadata` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    serde_json::from_slice(&output.stdout).context("cannot parse the output of `cargo metadata`")
}

/// Returns every library and program of the workspace, by their top-level folder. The crates of one folder are analyzed
/// together. Imports between folders need no check, because Cargo allows no cycles between crates.
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

/// Converts a target of cargo; `None` for tests, benches, and build scripts.
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
