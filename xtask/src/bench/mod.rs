//! `cargo xtask bench`: how fast the server is (`server`), and how fast and how light the page (`page`).

mod options;
mod page;
mod server;

use anyhow::{Result, bail};

pub(crate) use self::options::Options;
use crate::{build, progress::say};

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
