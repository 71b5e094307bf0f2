//! Installs missing packages on the only systems where that needs no confirmation: Debian or Ubuntu, as root.

use std::{path::Path, process::Command};

use anyhow::Result;

use crate::{progress::say, shell};

/// Returns `true` if packages can be installed here without confirmation.
pub(crate) fn can_install() -> bool {
    Path::new("/etc/debian_version").exists() && shell::find_program("apt-get").is_some() && shell::is_root()
}

/// Installs packages with apt.
pub(crate) fn install(packages: &[&str]) -> Result<()> {
    say(&format!("installing the Debian packages {} (takes a minute or two)…", packages.join(", ")));
    // Updates the package lists first: a fresh container has none, and many machines have old ones. If that fails, the
    // existing lists may still be good enough.
    let _ = shell::status(apt_get().args(["-qq", "update"]))?;
    shell::run(apt_get().args(["-qq", "install", "--yes", "--no-install-recommends"]).args(packages))
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    // Sends apt's output to stderr, like other progress messages.
    command.env("DEBIAN_FRONTEND", "noninteractive").stdout(std::io::stderr());
    command
}
