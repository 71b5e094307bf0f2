//! `cargo xtask bench`: how fast the server is (`server`), and how fast and how light the page (`page`).

mod page;
mod server;

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::{build, progress::say};

/// What `cargo xtask bench` can be told.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Measure only this; may be given several times
    #[arg(long = "only", value_name = "NAME")]
    only: Vec<String>,
    /// Take the builds that are quick to make, and less of everything: figures that do not count
    #[arg(long)]
    quick: bool,
    /// How often each figure of the server is taken, in turns with those of its peers
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// A database of a MySQL server, as in `DATABASE_URL`; without one, Tallybook with MySQL is left out
    #[arg(long, value_name = "URL")]
    mysql: Option<String>,
    /// Where the server's figures go as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Where the server's figures go as a picture (SVG)
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
}

/// Builds page and server, and prints what was measured, as a table each.
pub(crate) fn run(options: &Options) -> Result<()> {
    let (rows, benches) = chosen(&options.only)?;
    let program = build::program(!options.quick)?;
    if !rows.is_empty() {
        server::run(&program, &rows, options)?;
    }
    if !benches.is_empty() {
        page::run(&program, &benches, options.quick)?;
    }
    if options.quick {
        say("these are the quick builds, so the figures do not count");
    }
    Ok(())
}

/// Tries the server's benches with what is built already, to see that they work; their figures do not count.
pub(crate) fn try_out() -> Result<()> {
    server::try_out()
}

/// The rows of the server and the benches of the page that are wanted, or all when none is named.
fn chosen(wanted: &[String]) -> Result<(Vec<String>, Vec<String>)> {
    let benches = page::benches()?;
    let rows = server::ROWS.map(str::to_owned);
    if wanted.is_empty() {
        return Ok((rows.to_vec(), benches.into_iter().collect()));
    }
    if let Some(unknown) = wanted.iter().find(|name| !benches.contains(*name) && !rows.contains(name)) {
        let names: Vec<_> = rows.into_iter().chain(benches).collect();
        bail!("there is no bench {unknown:?}; choose from {}", names.join(", "));
    }
    Ok(wanted.iter().cloned().partition(|name| rows.contains(name)))
}

#[cfg(test)]
mod tests {
    use super::chosen;

    #[test]
    fn benches_are_chosen_by_name() {
        let (rows, benches) = chosen(&[]).unwrap();
        assert!(rows.iter().any(|name| name == "turn_ttft") && benches.iter().any(|name| name == "first_load"));
        let (rows, benches) = chosen(&["first_load".to_owned(), "sse_mem".to_owned()]).unwrap();
        assert_eq!((rows, benches), (vec!["sse_mem".to_owned()], vec!["first_load".to_owned()]));
        let error = chosen(&["no_such_bench".to_owned()]).unwrap_err().to_string();
        assert!(error.starts_with("there is no bench \"no_such_bench\"; choose from turn_ttft, "), "{error}");
    }
}
