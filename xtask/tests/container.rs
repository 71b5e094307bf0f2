//! Compares settings of the container image with docker-compose.yml. An image that runs on its own must be as safe as
//! under compose.

use std::{collections::BTreeSet, fs, path::Path};

/// Settings for which the image and the compose files set a default.
const COMMON: [&str; 3] = ["HOST", "PORT", "ALLOWED_HOSTS"];

const COMPOSE_FILES: [&str; 2] = ["docker-compose.yml", "compose.sqlite.yml"];

#[test]
fn the_image_alone_has_the_same_settings_as_under_compose() {
    let image = read("infra/Dockerfile");
    for file in COMPOSE_FILES {
        for name in COMMON {
            let value = image_default(&image, name).unwrap_or_else(|| panic!("the image sets no default for {name}"));
            assert_eq!(compose_default(&read(file), name), Some(value), "{file}: {name}");
        }
    }
    // Without `ALLOWED_HOSTS`, a server that other machines can reach accepts any host name.
    assert_eq!(image_default(&image, "ALLOWED_HOSTS"), Some("localhost"));
}

#[test]
fn the_port_is_the_same_everywhere() {
    let image = read("infra/Dockerfile");
    let port = image_default(&image, "PORT").unwrap();
    assert!(image.lines().any(|line| line == format!("EXPOSE {port}")), "EXPOSE is not {port}");
    for file in COMPOSE_FILES {
        let compose = read(file);
        let published = format!("\"127.0.0.1:${{TALLYBOOK_PORT:-{port}}}:{port}\"");
        assert!(compose.contains(&published), "{file} does not publish {port}");
        // Links, such as the setup link, lead to the published port.
        let link = format!("PUBLIC_URL: ${{PUBLIC_URL:-http://localhost:${{TALLYBOOK_PORT:-{port}}}}}");
        assert!(compose.lines().any(|line| line.trim() == link), "{file} lacks {link}");
    }
}

#[test]
fn compose_passes_every_setting() {
    let table = read("docs/reference/configuration.md");
    let (variables, _) = table.split_once("\n## Settings file\n").unwrap();
    let settings = settings(variables);
    assert!(settings.contains("LLM_PROVIDER"), "{settings:?}");
    for file in COMPOSE_FILES {
        let compose = read(file);
        let is_missing = |name: &&&str| !compose.lines().any(|line| line.trim().starts_with(&format!("{name}:")));
        let missing: Vec<_> = settings.iter().filter(is_missing).collect();
        assert!(missing.is_empty(), "{file} does not pass {missing:?}");
    }
}

/// `/tmp` is in memory there. Uploads that fill it would count as memory of the container.
#[test]
fn temporary_files_are_on_a_disk() {
    for file in COMPOSE_FILES {
        let compose = read(file);
        let folder = compose_default(&compose, "TMPDIR").unwrap_or_else(|| panic!("{file} sets no TMPDIR"));
        let is_mount = |line: &str| line.trim().starts_with("- ") && line.trim().ends_with(&format!(":{folder}"));
        assert!(compose.lines().any(is_mount), "{file} mounts no volume at {folder}");
        assert!(compose.contains("tmpfs: [\"/tmp:size="), "{file} does not limit /tmp");
    }
    let unit = read("infra/systemd/tallybook.service");
    assert!(unit.lines().any(|line| line == "Environment=TMPDIR=/var/tmp"), "many systems have /tmp in memory");
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
    assert!(service("mysql").contains("no-new-privileges:true") && service("mysql").contains("cap_drop: [ALL]"));
}

/// The reference says how to open the database of the containers.
#[test]
fn the_command_that_opens_the_database_fits_the_compose_file() {
    let (compose, reference) = (read("docker-compose.yml"), read("docs/reference/sql.md"));
    for setting in ["MYSQL_DATABASE: tallybook", "MYSQL_USER: tallybook", "MYSQL_PASSWORD:"] {
        assert!(compose.contains(setting), "docker-compose.yml lacks {setting}");
    }
    let command = r#"docker compose exec mysql sh -c 'MYSQL_PWD="$MYSQL_PASSWORD" mysql -utallybook tallybook'"#;
    assert!(reference.contains(command), "{reference}");
}

#[test]
fn compose_starts_without_any_variable() {
    for file in COMPOSE_FILES {
        let compose = read(file);
        assert!(!compose.contains(":?"), "{file} requires a variable");
        for right in ["read_only: true", "cap_drop: [ALL]", "security_opt: [\"no-new-privileges:true\"]"] {
            assert!(compose.lines().any(|line| line.trim() == right), "{file} lacks {right}");
        }
        assert!(compose.contains("max-size: 10m"), "{file} does not limit the log");
    }
    // The default password is known, so the database must be out of reach from outside.
    let compose = read("docker-compose.yml");
    let mysql = compose.split("\n  mysql:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    assert!(mysql.contains("networks: [database]") && !mysql.contains("ports:"), "{mysql}");
    assert!(compose.contains("  database:\n    internal: true"), "{compose}");
}

#[test]
fn both_images_check_the_health_with_the_program_itself() {
    let image = read("infra/Dockerfile");
    let checks: Vec<_> = image.lines().filter(|line| line.starts_with("HEALTHCHECK ")).collect();
    assert_eq!(checks.len(), 2, "{checks:?}");
    assert!(checks.iter().all(|check| check.contains("tallybook\", \"healthcheck\"]")), "{checks:?}");
    let stage = image.split("\nFROM ").find(|stage| stage.contains(" AS without-shell")).unwrap();
    assert!(!stage.contains("\nRUN "), "the image has no shell that could run a command");
}

#[test]
fn services_have_time_to_finish_their_turns() {
    let unit = read("infra/systemd/tallybook.service");
    let value = |name: &str| unit.lines().find_map(|line| line.strip_prefix(&format!("{name}=")));
    assert_eq!(value("Type"), Some("notify"));
    assert!(value("TimeoutStopSec").unwrap().parse::<u32>().unwrap() > 20, "SHUTDOWN_GRACE_SECS is 20 by default");
}

#[test]
fn proxies_stream_and_pass_the_host_on() {
    let nginx = read("infra/proxies/nginx.conf");
    for line in [
        "proxy_set_header Host $http_host;",
        "proxy_set_header X-Forwarded-For $remote_addr;",
        "proxy_buffering off;",
        "http2 on;",
    ] {
        assert!(nginx.lines().any(|found| found.trim() == line), "{line}");
    }
    assert!(read("infra/proxies/Caddyfile").contains("flush_interval -1"));
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
        !ignored.lines().any(|line| line == "docs")
            && ignored.lines().any(|line| line == "!docs/reference/api-examples"),
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
