//! The crates whose imports are drawn, as cargo knows them.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::shell;

/// A library or program: where its module tree begins.
pub(super) struct Root {
    /// By which name others import it; programs have none.
    pub(super) name: Option<String>,
    pub(super) file: PathBuf,
}

/// Every library and program of the workspace that lies in `folder`.
pub(super) fn below(folder: &Path) -> Result<Vec<Root>> {
    let output = shell::cargo().args(["metadata", "--no-deps", "--format-version", "1"]).output()?;
    if !output.status.success() {
        bail!("`cargo metadata` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let metadata: Value = serde_json::from_slice(&output.stdout).context("cannot read what `cargo metadata` says")?;
    let targets = array(&metadata["packages"]).flat_map(|package| array(&package["targets"]));
    let roots: Vec<Root> = targets.filter_map(root).filter(|root| root.file.starts_with(folder)).collect();
    if roots.is_empty() {
        bail!("there is no crate in {}", folder.display());
    }
    Ok(roots)
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
