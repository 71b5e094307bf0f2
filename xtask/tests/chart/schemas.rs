//! Checks files against published schemas: Kubernetes objects, compose files, workflows, and forms. Two Python programs
//! have the schemas; `cargo xtask test` installs them.

use std::{fs, path::Path, process::Command};

use serde_json::Value as Json;

use super::render::everything;

/// Name of the environment variable with the path of a Python that has the packages of `requirements.txt`.
const PYTHON: &str = "TEST_PYTHON";

/// Runs a Python module in the top folder of the project.
fn check(module: &str, args: &[&str]) {
    let python = std::env::var(PYTHON).unwrap_or_default();
    let advice = "set TEST_PYTHON to a Python with xtask/tests/chart/requirements.txt, or run `cargo xtask test`";
    assert!(!python.is_empty(), "{advice}");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let output = Command::new(python).arg("-m").arg(module).args(args).current_dir(root).output().unwrap();
    let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{module} {args:?}: {printed}");
}

/// Kinds of other projects, such as `HTTPRoute`, have no schema there.
#[test]
fn objects_follow_the_schemas_of_kubernetes() {
    let folder = tempfile::tempdir().unwrap();
    let mut args = vec!["--strict".to_owned()];
    for (name, objects) in everything() {
        let file = folder.path().join(name);
        // YAML includes JSON.
        let texts: Vec<String> = objects.iter().map(Json::to_string).collect();
        fs::write(&file, texts.join("\n---\n")).unwrap();
        args.push(file.to_str().unwrap().to_owned());
    }
    for name in ["monitoring", "restore", "tallybook"] {
        args.push(format!("infra/kubernetes/{name}.yaml"));
    }
    check("kubernetes_validate", &args.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn files_for_other_programs_follow_their_schemas() {
    for (schema, files) in [
        ("vendor.compose-spec", &["docker-compose.yml", "compose.sqlite.yml"][..]),
        ("vendor.github-workflows", &[".github/workflows/ci.yml", ".github/workflows/release.yml"]),
        ("vendor.renovate", &["renovate.json"]),
    ] {
        check("check_jsonschema", &[&["--builtin-schema", schema], files].concat());
    }
}
