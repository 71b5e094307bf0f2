//! Compares settings of the container image with docker-compose.yml. An image that runs on its own must be as safe as
//! under compose.

use std::{collections::BTreeSet, fs, path::Path};

/// Settings for which both set a default.
const COMMON: [&str; 3] = ["HOST", "PORT", "ALLOWED_HOSTS"];

#[test]
fn the_image_alone_has_the_same_settings_as_under_compose() {
    let (image, compose) = (read("infra/Dockerfile"), read("docker-compose.yml"));
    for name in COMMON {
        let value = image_default(&image, name).unwrap_or_else(|| panic!("the image sets no default for {name}"));
        assert_eq!(compose_default(&compose, name), Some(value), "{name}");
    }
    // Without `ALLOWED_HOSTS`, a server that other machines can reach accepts any host name.
    assert_eq!(image_default(&image, "ALLOWED_HOSTS"), Some("localhost"));
}

#[test]
fn the_port_is_the_same_everywhere() {
    let (image, compose) = (read("infra/Dockerfile"), read("docker-compose.yml"));
    let port = image_default(&image, "PORT").unwrap();
    assert!(image.lines().any(|line| line == format!("EXPOSE {port}")), "EXPOSE is not {port}");
    assert!(
        compose.contains(&format!("\"127.0.0.1:${{TALLYBOOK_PORT:-{port}}}:{port}\"")),
        "compose does not publish {port}"
    );
}

#[test]
fn compose_passes_every_setting() {
    let (table, compose) = (read("docs/reference/configuration.md"), read("docker-compose.yml"));
    let settings = settings(&table);
    assert!(settings.contains("LLM_PROVIDER"), "{settings:?}");
    let missing: Vec<_> = settings
        .into_iter()
        .filter(|name| !compose.lines().any(|line| line.trim().starts_with(&format!("{name}:"))))
        .collect();
    assert!(missing.is_empty(), "docker-compose.yml does not pass {missing:?}");
}

#[test]
fn compose_gives_the_app_no_unneeded_permissions() {
    let compose = read("docker-compose.yml");
    let service = |name: &str| {
        let rest = compose.split(&format!("\n  {name}:\n")).nth(1).unwrap();
        rest.lines().take_while(|line| line.is_empty() || line.starts_with("   ")).collect::<Vec<_>>().join("\n")
    };
    for right in ["read_only: true", "cap_drop: [ALL]", "security_opt: [\"no-new-privileges:true\"]"] {
        assert!(service("app").lines().any(|line| line.trim() == right), "{right}");
    }
    assert!(service("mysql").contains("no-new-privileges:true"));
}

/// A range that also contains other pods would let each of them claim any client address.
#[test]
fn on_kubernetes_no_network_range_counts_as_a_proxy() {
    let manifest = read("infra/kubernetes/tallybook.yaml");
    let proxies = manifest.lines().find_map(|line| line.trim().strip_prefix("TRUSTED_PROXIES: ")).unwrap();
    assert!(proxies.split(',').all(|proxy| proxy.ends_with("/32") || proxy.ends_with("/128")), "{proxies}");
    assert!(manifest.contains("kind: HTTPRoute") && !manifest.contains("kind: Ingress"), "ingress-nginx is retired");
}

#[test]
fn the_image_has_the_licenses_and_the_bill_of_materials() {
    let image = read("infra/Dockerfile");
    assert!(image.contains("xtask notices /notices"), "the build writes them");
    for copied in ["COPY --from=build /notices/ /usr/share/doc/tallybook/", "COPY LICENSE /usr/share/doc/tallybook/"] {
        assert!(image.lines().any(|line| line == copied), "{copied}");
    }
}

#[test]
fn the_builder_has_every_file_that_is_compiled_in() {
    let ignored = read("infra/Dockerfile.dockerignore");
    // The API page includes the examples in this folder.
    assert!(
        !ignored.lines().any(|line| line == "docs") && ignored.lines().any(|line| line == "!docs/api"),
        "{ignored}"
    );
}

#[test]
fn the_browser_tests_of_compose_run_only_on_request() {
    let compose = read("docker-compose.yml");
    let service = compose.split("\n  e2e:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    assert!(service.contains("profiles: [e2e]") && service.contains("target: e2e"), "{service}");
    assert!(read("infra/Dockerfile").lines().any(|line| line.ends_with(" AS e2e")));
}

/// Returns the value that the image sets, in `ENV NAME=value …`.
fn image_default<'a>(dockerfile: &'a str, name: &str) -> Option<&'a str> {
    let words = dockerfile.lines().filter_map(|line| line.strip_prefix("ENV ")).flat_map(str::split_whitespace);
    words.filter_map(|word| word.split_once('=')).find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// Returns the value that compose sets by default, in `NAME: value` or `NAME: ${NAME:-value}`.
fn compose_default<'a>(compose: &'a str, name: &str) -> Option<&'a str> {
    let mut pairs = compose.lines().filter_map(|line| line.trim().split_once(": "));
    let (_, value) = pairs.find(|(key, _)| *key == name)?;
    let fallback =
        value.strip_prefix("${").and_then(|value| value.strip_suffix('}')).and_then(|value| value.split_once(":-"));
    Some(fallback.map_or(value.trim_matches('"'), |(_, value)| value))
}

/// Returns the names in the first column of the table of settings.
fn settings(table: &str) -> BTreeSet<&str> {
    let columns = table.lines().filter_map(|line| line.strip_prefix("| `")?.split('|').next());
    let is_variable = |name: &&str| name.starts_with(|first: char| first.is_ascii_uppercase());
    columns.flat_map(|column| column.split([',', '`', ' '])).filter(is_variable).collect()
}

fn read(file: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("cannot read {}: {error}", file.display()))
}
