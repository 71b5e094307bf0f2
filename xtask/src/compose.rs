//! `cargo xtask compose`: tests docker-compose.yml. Builds the images, and starts MySQL and the app in a separate
//! project. The profile `e2e` tests them in a browser. Then it starts both again, and prints the size of the image and
//! the time until the app was ready at each start. Finally it removes the containers and their data. The images stay,
//! as the cache of the next build.

use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use crate::{
    progress::{Step, say},
    shell, workspace,
};

/// Compose project of the containers and the volume. It keeps an installation on the same machine untouched.
const PROJECT: &str = "tallybook-e2e";

/// Settings that override the user's `.env`. The demo model writes slowly enough that a page can disconnect in the
/// middle of an answer. Any free port will do, because no client outside the containers uses it.
const SETTINGS: [(&str, &str); 5] = [
    ("MYSQL_PASSWORD", "for-these-containers-only"),
    ("TALLYBOOK_PORT", "0"),
    ("LLM_PROVIDER", "demo"),
    ("DEMO_PACE_MS", "200"),
    ("CONFIG_FILE", ""),
];

const ADVICE: &str =
    "this needs a running Docker with its compose plugin, 2.24 or newer: https://docs.docker.com/engine/install";

/// Runs the whole test.
pub(crate) fn run() -> Result<()> {
    ensure!(shell::ask(compose().arg("version")).is_some(), ADVICE);
    ensure!(shell::ask(Command::new("docker").arg("info")).is_some(), ADVICE);
    let step = Step::begin("building the images", "the first time takes as long as a release does");
    shell::run(compose().arg("build"))?;
    step.done("");

    // Removes what an aborted earlier run left behind.
    remove()?;
    let step = Step::begin("testing the services of docker-compose.yml", "");
    let tried = shell::run(compose().args(["up", "--no-build", "--exit-code-from", "e2e"]));
    step.done(if tried.is_ok() { "all passed" } else { "some failed" });
    tried?;
    let measured = measure();
    remove()?;
    say(&measured?);
    Ok(())
}

/// Returns a `docker compose` command for this project, with the profile of the tests.
fn compose() -> Command {
    let mut command = Command::new("docker");
    command.args(["compose", "--project-name", PROJECT, "--profile", "e2e"]);
    command.current_dir(workspace::root()).envs(SETTINGS);
    command
}

fn remove() -> Result<()> {
    shell::run(compose().args(["down", "--volumes", "--remove-orphans"]))
}

/// Measures the size of the app's image, and the time until the app was ready: with an empty MySQL, where it creates
/// the tables, and again with the existing data.
fn measure() -> Result<String> {
    let container = shell::ask(compose().args(["ps", "--all", "--quiet", "app"])).context("the app was not started")?;
    let first = ready_after_ms(&container)?;
    shell::run(compose().args(["up", "--no-build", "--wait", "app"]))?;
    let again = ready_after_ms(&container)?;
    let bytes: u64 = inspect(&inspect(&container, "{{.Image}}")?, "{{.Size}}")?.parse()?;
    Ok(format!(
        "the image has {} MB, and was ready {first} ms after its first start and {again} ms after its second, with MySQL running",
        bytes.div_ceil(1_000_000)
    ))
}

/// Returns the time from the app's last start until it was ready, in milliseconds.
fn ready_after_ms(container: &str) -> Result<u64> {
    let started = inspect(container, "{{.State.StartedAt}}")?;
    let log = shell::ask(Command::new("docker").args(["logs", "--timestamps", "--since", &started, container]))
        .context("the app has no log")?;
    let Some((ready, _)) = log.lines().find_map(|line| line.split_once(" Tallybook is ready")) else {
        bail!("the app was never ready");
    };
    time_of_day_ms(ready)?.checked_sub(time_of_day_ms(&started)?).context("midnight passed during the start")
}

fn inspect(of: &str, what: &str) -> Result<String> {
    shell::ask(Command::new("docker").args(["inspect", "--format", what, of])).context("docker inspect fails")
}

/// Returns the milliseconds since midnight of a time in Docker's format: `2026-11-23T21:30:19.335908123Z`.
fn time_of_day_ms(time: &str) -> Result<u64> {
    let parsed = || {
        let (_, clock) = time.trim_end_matches('Z').split_once('T')?;
        let (seconds, fraction) = clock.split_once('.').unwrap_or((clock, ""));
        let mut whole = 0;
        for part in seconds.split(':') {
            whole = whole * 60 + part.parse::<u64>().ok()?;
        }
        let millis: u64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
        Some(whole * 1000 + millis)
    };
    parsed().with_context(|| format!("{time} is not a time in Docker's format"))
}

#[cfg(test)]
mod tests {
    use super::time_of_day_ms;

    #[test]
    fn docker_times_are_parsed() {
        assert_eq!(time_of_day_ms("2026-11-23T00:01:02.345678901Z").unwrap(), 62_345);
        assert_eq!(time_of_day_ms("2026-11-23T01:00:00Z").unwrap(), 3_600_000);
        assert!(time_of_day_ms("yesterday").is_err());
    }
}
