//! Prints the address of each server of this program, and messages for the user.

use std::{
    io::{self, Write as _},
    net::SocketAddr,
};

use anyhow::{Context as _, Result};

/// Prints a line to stderr for the user. Stdout is for the results.
pub(crate) fn say(line: &str) {
    // Ignores a closed stderr.
    let _ = writeln!(io::stderr().lock(), "bench: {line}");
}

/// Prints the address of this server for the process that started it, at the end of the only line on stdout.
pub(crate) fn announce(address: SocketAddr) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "Listening on http://{address}")
        .and_then(|()| out.flush())
        .context("cannot print the address of this server")
}
