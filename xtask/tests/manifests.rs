//! Tests the manifests of the workspace: versions are set in one place, and every dependency is used.

#![allow(clippy::unwrap_used, reason = "helpers of tests report failures by panicking, too")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Returns the folders of all crates with their parsed manifests, the root and the fuzz targets included.
fn manifests() -> Vec<(PathBuf, toml::Table)> {
    let read = |folder: PathBuf| {
        let text = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        (folder, text.parse::<toml::Table>().unwrap())
    };
    let (_, workspace) = read(root());
    let members = workspace["workspace"]["members"].as_array().unwrap();
    let folders = members.iter().map(|member| root().join(member.as_str().unwrap()));
    folders.chain([root(), root().join("fuzz")]).map(read).collect()
}

/// Returns the names in all dependency tables of a manifest with their values.
fn dependencies(manifest: &toml::Table) -> Vec<(String, toml::Value)> {
    let tables = |table: &toml::Table| -> Vec<(String, toml::Value)> {
        ["dependencies", "dev-dependencies", "build-dependencies"]
            .iter()
            .filter_map(|name| table.get(*name)?.as_table().cloned())
            .flatten()
            .collect()
    };
    let mut found = tables(manifest);
    if let Some(targets) = manifest.get("target").and_then(toml::Value::as_table) {
        found.extend(targets.values().filter_map(toml::Value::as_table).flat_map(tables));
    }
    found
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    ignore::Walk::new(folder)
        .map(|entry| entry.unwrap().into_path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

#[test]
fn members_take_all_versions_from_the_workspace() {
    for (folder, manifest) in manifests().iter().filter(|(folder, _)| !folder.ends_with("fuzz")) {
        for (name, value) in dependencies(manifest) {
            let is_inherited = value.get("workspace").and_then(toml::Value::as_bool) == Some(true);
            assert!(is_inherited, "{}: {name} must be `{name}.workspace = true`", folder.display());
        }
    }
}

#[test]
fn every_dependency_is_used() {
    for (folder, manifest) in manifests() {
        let code: String = rust_files(&folder).iter().map(|path| fs::read_to_string(path).unwrap()).collect();
        let words: BTreeSet<&str> = code.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        for (name, value) in dependencies(&manifest) {
            // A dependency that only turns on a feature of another one says so with the key `features`.
            let turns_on_features = value.get("features").is_some();
            let is_used = words.contains(&*name.replace('-', "_")) || turns_on_features;
            assert!(is_used, "{}: {name} is not used", folder.display());
        }
    }
}

#[test]
fn sqlite_is_built_without_loadable_extensions() {
    let (_, workspace) = manifests().into_iter().find(|(folder, _)| *folder == root()).unwrap();
    let features = workspace["workspace"]["dependencies"]["sqlx"]["features"].as_array().unwrap();
    let features: Vec<&str> = features.iter().filter_map(toml::Value::as_str).collect();
    assert!(features.contains(&"sqlite-bundled") && !features.contains(&"sqlite"), "{features:?}");
}

#[test]
fn checks_fail_if_a_lock_file_is_out_of_date() {
    let scripts = [".ci/run", ".github/workflows/ci.yml"].map(|file| fs::read_to_string(root().join(file)).unwrap());
    for kind in ["xtask lint", "--manifest-path"] {
        let commands: Vec<_> =
            scripts.iter().flat_map(|script| script.lines()).filter(|line| line.contains(kind)).collect();
        assert!(!commands.is_empty() && commands.iter().all(|command| command.contains("--locked")), "{commands:?}");
    }
}

#[test]
fn cargo_deny_allows_the_licenses_that_the_notices_allow() {
    let deny: toml::Table = fs::read_to_string(root().join("deny.toml")).unwrap().parse().unwrap();
    let allowed = deny["licenses"]["allow"].as_array().unwrap();
    let allowed: BTreeSet<_> = allowed.iter().filter_map(toml::Value::as_str).collect();
    let code = fs::read_to_string(root().join("xtask/src/notices/licenses.rs")).unwrap();
    let list = code.split("const ALLOWED").nth(1).unwrap().split(';').nth(1).unwrap();
    let listed: BTreeSet<_> = list.split('"').skip(1).step_by(2).collect();
    assert_eq!(allowed, listed);
}

#[test]
fn the_debian_package_contains_files_that_exist() {
    let (folder, manifest) = manifests().into_iter().find(|(folder, _)| folder.ends_with("backend/server")).unwrap();
    let assets = manifest["package"]["metadata"]["deb"]["assets"].as_array().unwrap();
    let sources: Vec<&str> = assets.iter().map(|asset| asset[0].as_str().unwrap()).collect();
    assert!(sources.contains(&"target/release/tallybook"), "{sources:?}");
    for source in sources.iter().filter(|source| !source.contains("target/")) {
        assert!(folder.join(source).is_file(), "{source} does not exist");
    }
    let mut generated: Vec<_> =
        sources.iter().filter_map(|source| source.strip_prefix("../../target/package/")).collect();
    generated.sort_unstable();
    let expected = [
        "THIRD-PARTY-LICENSES.txt",
        "_tallybook",
        "tallybook.1",
        "tallybook.bash",
        "tallybook.cdx.json",
        "tallybook.fish",
    ];
    assert_eq!(generated, expected, "`cargo xtask deb` generates these files");
}
