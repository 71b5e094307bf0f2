//! `cargo xtask bench`: measures the speed of the server (`server`), and the speed and size of the page (`page`).

mod options;
mod page;
mod server;

use anyhow::{Result, bail};

pub(crate) use self::options::Options;
use crate::{build, progress::say};

/// Builds the page and the server, and prints a table of results for each.
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
        say("these are quick builds, so the results do not count");
    }
    Ok(())
}

/// Tests the server's benches with the programs that are already built. Their results do not count.
pub(crate) fn try_out() -> Result<()> {
    server::try_out()
}

/// Returns the wanted rows of the server and benches of the page; all if none is named.
fn chosen(wanted: &[String]) -> Result<(Vec<String>, Vec<String>)> {
    let benches = page::benches()?;
    let rows = server::ROWS.map(str::to_owned);
    if wanted.is_empty() {
        return Ok((rows.to_vec(), benches.into_iter().collect()));
    }
    if let Some(unknown) = wanted.iter().find(|name| !benches.contains(*name) && !rows.contains(name)) {
        let names: Vec<_> = rows.into_iter().chain(benches).collect();
        bail!("unknown bench {unknown:?}; choose from {}", names.join(", "));
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
        assert!(error.starts_with("unknown bench \"no_such_bench\"; choose from turn_ttft, "), "{error}");
    }
}
