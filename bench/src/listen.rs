//! How each of this program's servers says where it is, and the lines for people.

use std::{
    io::{self, Write as _},
    net::SocketAddr,
};

use anyhow::{Context as _, Result};

/// Says one line to a person. stdout belongs to the figures.
pub(crate) fn say(line: &str) {
    // A closed stderr is no reason to stop.
    let _ = writeln!(io::stderr().lock(), "bench: {line}");
}

/// Tells whoever started this server its address, as the one line of stdout that ends in it.
pub(crate) fn announce(address: SocketAddr) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "Listening on http://{address}")
        .and_then(|()| out.flush())
        .context("nobody hears where this server is")
}
