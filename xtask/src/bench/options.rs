//! Options of the benches: the selection of measurements, and files for the results.

use std::path::PathBuf;

/// What `cargo xtask bench` can be told.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Measure only this; may be given several times
    #[arg(long = "only", value_name = "NAME")]
    pub(super) only: Vec<String>,
    /// Take the builds that are quick to make, and less of everything: figures that do not count
    #[arg(long)]
    pub(super) quick: bool,
    /// How often each figure of the server is taken, in turns with those of its peers
    #[arg(long, default_value_t = 5)]
    pub(super) rounds: usize,
    /// A database of a MySQL server, as in `DATABASE_URL`; without one, Tallybook with MySQL is left out
    #[arg(long, value_name = "URL")]
    pub(super) mysql: Option<String>,
    /// Where the server's figures go as JSON
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// Where the server's figures go as a picture (SVG)
    #[arg(long, value_name = "FILE")]
    pub(super) picture: Option<PathBuf>,
}
