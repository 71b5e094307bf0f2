//! Writes the bill of materials for vulnerability scanners, in `CycloneDX` 1.6 (<https://cyclonedx.org/docs/1.6/json>).
//! Two builds of one commit write the same.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    process::Command,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context as _, Result};
use chrono::{DateTime, SecondsFormat};
use serde_json::{Value, json};

use super::{
    font, licenses,
    parts::{Id, Part},
};
use crate::{shell, workspace};

/// A C library that a crate contains and compiles.
struct Bundled {
    name: &'static str,
    /// The crate that contains it.
    by: &'static str,
    /// The header with its version, in that crate.
    header: &'static str,
    /// Text before the version in that header.
    define: &'static str,
    license: &'static str,
    supplier: &'static str,
    /// Its name in the Common Platform Enumeration (CPE), which vulnerability databases use.
    cpe: &'static str,
}

const BUNDLED: [Bundled; 2] = [
    Bundled {
        name: "sqlite",
        by: "libsqlite3-sys",
        header: "sqlite3/sqlite3.h",
        define: "#define SQLITE_VERSION ",
        license: "blessing",
        supplier: "SQLite Consortium",
        cpe: "sqlite:sqlite",
    },
    Bundled {
        name: "mimalloc",
        by: "libmimalloc-sys",
        header: "c_src/mimalloc/v3/include/mimalloc.h",
        define: "#define MI_MALLOC_VERSION ",
        license: "MIT",
        supplier: "Microsoft",
        cpe: "microsoft:mimalloc",
    },
];

/// Writes the bill of materials of this version of the program.
pub(super) fn write(version: &str, parts: &[Part]) -> Result<String> {
    let checksums = checksums(&fs::read_to_string(workspace::root().join("Cargo.lock"))?);
    let mut components = Vec::new();
    let mut dependencies = vec![depends("tallybook", parts.iter().filter(|part| part.is_direct).map(Part::id))];
    for part in parts {
        let checksum =
            checksums.get(&part.id()).with_context(|| format!("Cargo.lock has no checksum of {}", part.name))?;
        let url = url(&part.id());
        components.push(json!({
            "type": "library",
            "bom-ref": url,
            "name": part.name,
            "version": part.version,
            "supplier": { "name": "crates.io" },
            "purl": url,
            "licenses": [{ "expression": licenses::canonical(&part.license)? }],
            "hashes": [{ "alg": "SHA-256", "content": checksum }],
        }));
        let mut dependency = depends(&url, part.needs.iter().cloned());
        for bundled in BUNDLED.iter().filter(|bundled| bundled.by == part.name) {
            let component = bundled.component(part)?;
            if let Some(needed) = dependency["dependsOn"].as_array_mut() {
                needed.push(component["bom-ref"].clone());
            }
            components.push(component);
        }
        dependencies.push(dependency);
    }
    let font = font::component();
    if let Some(needed) = dependencies[0]["dependsOn"].as_array_mut() {
        needed.push(font["bom-ref"].clone());
    }
    components.push(font);
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": timestamp()?,
            "supplier": { "name": "Tallybook" },
            "component": {
                "type": "application",
                "bom-ref": "tallybook",
                "name": "tallybook",
                "version": version,
                "supplier": { "name": "Tallybook" },
                "licenses": [{ "expression": env!("CARGO_PKG_LICENSE") }],
            },
        },
        "components": components,
        "dependencies": dependencies,
    });
    Ok(serde_json::to_string_pretty(&bill)? + "\n")
}

impl Bundled {
    fn component(&self, part: &Part) -> Result<Value> {
        let header = part.folder.join(self.header);
        let text = fs::read_to_string(&header).with_context(|| format!("cannot read {}", header.display()))?;
        let version = text.lines().find_map(|line| line.strip_prefix(self.define));
        let version = version.with_context(|| format!("{} names no version", header.display()))?;
        let version = version_of(version);
        let url = format!("pkg:generic/{}@{version}", self.name);
        Ok(json!({
            "type": "library",
            "bom-ref": url,
            "name": self.name,
            "version": version,
            "supplier": { "name": self.supplier },
            "purl": url,
            "cpe": format!("cpe:2.3:a:{}:{version}:*:*:*:*:*:*:*", self.cpe),
            "licenses": [{ "license": { "id": self.license } }],
        }))
    }
}

/// Parses a version as headers write it: `"3.51.3"`, or 30302 for 3.3.2.
fn version_of(written: &str) -> String {
    let word = written.split_whitespace().next().unwrap_or_default().trim_matches('"');
    match word.parse::<u32>() {
        Ok(number) => format!("{}.{}.{}", number / 10_000, number / 100 % 100, number % 100),
        Err(_) => word.to_owned(),
    }
}

fn url((name, version): &Id) -> String {
    format!("pkg:cargo/{name}@{version}")
}

fn depends(on: &str, needs: impl Iterator<Item = Id>) -> Value {
    let needs: BTreeSet<String> = needs.map(|id| url(&id)).collect();
    json!({ "ref": on, "dependsOn": needs })
}

/// Returns the time of the built commit, in ISO 8601. `SOURCE_DATE_EPOCH`, the convention of packagers, takes
/// precedence over Git. Without both, returns the current time.
fn timestamp() -> Result<String> {
    let named = env::var("SOURCE_DATE_EPOCH").ok();
    let committed =
        || shell::ask(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(workspace::root()));
    let seconds = match named.or_else(committed) {
        Some(seconds) => seconds.trim().parse().context("SOURCE_DATE_EPOCH is not a number of seconds")?,
        None => i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs())?,
    };
    let time = DateTime::from_timestamp(seconds, 0).context("SOURCE_DATE_EPOCH is not a valid time")?;
    Ok(time.to_rfc3339_opts(SecondsFormat::Secs, true))
}

/// Returns the checksum of each crate's archive from the text of `Cargo.lock`. A block in it has `name`, `version`,
/// `source`, and `checksum` in this order.
fn checksums(lock: &str) -> BTreeMap<Id, String> {
    let blocks = lock.split("[[package]]").filter_map(|block| {
        let value = |key: &str| {
            let line = block.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "))?;
            Some(line.trim_matches('"').to_owned())
        };
        Some(((value("name")?, value("version")?), value("checksum")?))
    });
    blocks.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::{super::parts, version_of, write};

    #[test]
    fn each_part_is_listed_with_its_license_supplier_and_dependencies() {
        let parts = parts::all().unwrap();
        let bill: Value = serde_json::from_str(&write("1.2.3", &parts).unwrap()).unwrap();
        let metadata = &bill["metadata"];
        assert_eq!(metadata["component"]["version"], "1.2.3");
        assert!(metadata["timestamp"].as_str().unwrap().ends_with('Z') && metadata["supplier"]["name"].is_string());
        let components = bill["components"].as_array().unwrap();
        assert_eq!(components.len(), parts.len() + 3, "every crate, SQLite, mimalloc and the font");
        for component in components {
            assert!(component["supplier"]["name"].is_string() && !component["licenses"][0].is_null(), "{component}");
            if component["purl"].as_str().unwrap().starts_with("pkg:cargo/") {
                assert_eq!(component["hashes"][0]["content"].as_str().unwrap().len(), 64, "{component}");
            }
        }
        let names: BTreeSet<&str> = components.iter().map(|component| component["bom-ref"].as_str().unwrap()).collect();
        let dependencies = bill["dependencies"].as_array().unwrap();
        let mut reached = BTreeSet::new();
        for dependency in dependencies {
            for needed in dependency["dependsOn"].as_array().unwrap() {
                assert!(names.contains(needed.as_str().unwrap()), "{needed}");
                reached.insert(needed.as_str().unwrap());
            }
        }
        assert_eq!(reached, names, "each is a dependency of another part");
        assert_eq!(dependencies[0]["ref"], "tallybook");
        assert!(reached.iter().any(|name| name.starts_with("pkg:generic/sqlite@3.")));
    }

    #[test]
    fn versions_in_headers_are_parsed() {
        for (written, version) in
            [("       \"3.51.3\"", "3.51.3"), ("30302   // major + 2 digits", "3.3.2"), ("227", "0.2.27")]
        {
            assert_eq!(version_of(written), version);
        }
    }
}
