//! The same parts for machines that look for known faults in them: a bill of materials in `CycloneDX` 1.6
//! (<https://cyclonedx.org/docs/1.6/json>). It has neither a time nor a number of its own, so that two of one release are equal.

use std::{collections::BTreeMap, fs};

use anyhow::{Context as _, Result};
use serde_json::json;

use super::{
    licenses,
    parts::{Id, Part},
};
use crate::workspace;

/// Writes it, for this version of the program.
pub(super) fn write(version: &str, parts: &[Part]) -> Result<String> {
    let checksums = checksums(&fs::read_to_string(workspace::root().join("Cargo.lock"))?);
    let components = parts.iter().map(|part| {
        let url = format!("pkg:cargo/{}@{}", part.name, part.version);
        let id = (part.name.clone(), part.version.clone());
        let checksum = checksums.get(&id).with_context(|| format!("Cargo.lock has no checksum of {}", part.name))?;
        Ok(json!({
            "type": "library",
            "bom-ref": url,
            "name": part.name,
            "version": part.version,
            "purl": url,
            "licenses": [{ "expression": licenses::canonical(&part.license)? }],
            "hashes": [{ "alg": "SHA-256", "content": checksum }],
        }))
    });
    let components: Vec<_> = components.collect::<Result<_>>()?;
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "component": { "type": "application", "bom-ref": "tallybook", "name": "tallybook", "version": version } },
        "components": components,
    });
    Ok(serde_json::to_string_pretty(&bill)? + "\n")
}

/// What cargo wrote down of each crate's archive: a block of `name`, `version`, `source`, `checksum`, in this order.
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
    use serde_json::Value;

    use super::{super::parts, write};

    #[test]
    fn each_part_is_in_it_with_its_licence_and_checksum() {
        let parts = parts::all().unwrap();
        let bill: Value = serde_json::from_str(&write("1.2.3", &parts).unwrap()).unwrap();
        assert_eq!(bill["metadata"]["component"]["version"], "1.2.3");
        let components = bill["components"].as_array().unwrap();
        assert_eq!(components.len(), parts.len());
        for component in components {
            assert_eq!(component["hashes"][0]["content"].as_str().unwrap().len(), 64, "{component}");
            assert!(component["licenses"][0]["expression"].is_string(), "{component}");
        }
    }
}
