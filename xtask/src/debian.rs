//! Installing what is missing, on the one kind of system where that needs no question: Debian or Ubuntu, as root.

use std::{path::Path, process::Command};

use anyhow::Result;

use crate::{progress::say, shell};

/// Whether packages can be installed here without asking anybody.
pub(crate) fn can_install() -> bool {
    Path::new("/etc/debian_version").exists() && shell::find_program("apt-get").is_some() && shell::is_root()
}

/// Installs packages through apt.
pub(crate) fn install(packages: &[&str]) -> Result<()> {
    say(&format!("installing the Debian packages {} (takes a minute or two)…", packages.join(", ")));
    // The package lists are missing in a fresh container and old on many machines, so they come first. When that fails,
    // the lists that are there may still do.
    let _ = shell::status(apt_get().args(["-qq", "update"]))?;
    shell::run(apt_get().args(["-qq", "install", "--yes", "--no-install-recommends"]).args(packages))
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    // What apt prints goes to stderr with the other progress.
    command.env("DEBIAN_FRONTEND", "noninteractive").stdout(std::io::stderr());
    command
}
