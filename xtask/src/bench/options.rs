//! Options of the benches: the selection of measurements, and files for the results.

use std::path::PathBuf;

/// Options of `cargo xtask bench`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Measure only this; can be repeated
    #[arg(long = "only", value_name = "NAME")]
    pub(super) only: Vec<String>,
    /// Use the quick builds and less data; the results do not count
    #[arg(long)]
    pub(super) quick: bool,
    /// In `growth`, also measure a million messages, which takes minutes to generate
    #[arg(long, conflicts_with = "quick")]
    pub(super) million: bool,
    /// Rounds of the server's measurements; in each round, the server and its peers take turns
    #[arg(long, default_value_t = 5)]
    pub(super) rounds: usize,
    /// MySQL database, as in `DATABASE_URL`; without it, Tallybook with MySQL is not measured
    #[arg(long, value_name = "URL")]
    pub(super) mysql: Option<String>,
    /// File for the server's results, as JSON
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// File for a chart of the server's results, as SVG
    #[arg(long, value_name = "FILE")]
    pub(super) picture: Option<PathBuf>,
}
