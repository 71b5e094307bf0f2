//! Results of a round: the number of turns, how long they took, and what was wrong.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
    time::Duration,
};

use anyhow::{Context as _, Error, Result};

use super::turn::Done;
use crate::{
    listen::say,
    report::{median, percentile},
    rows::{mebibytes, milliseconds},
};

/// Maximum number of printed failures. For the rest, only their number is printed.
const MAX_LISTED: usize = 10;

/// Results of a round.
pub(super) struct Summary {
    done: Vec<Done>,
    pub(super) troubles: Vec<Error>,
    took: Duration,
}

impl Summary {
    pub(super) fn of(outcomes: Vec<Result<Done>>, took: Duration) -> Self {
        let (mut done, mut troubles) = (Vec::new(), Vec::new());
        for outcome in outcomes {
            match outcome {
                Ok(turn) => done.push(turn),
                Err(error) => troubles.push(error),
            }
        }
        Self { done, troubles, took }
    }

    /// Prints the results to stderr.
    pub(super) fn say(&self) {
        let mut firsts: Vec<f64> = self.done.iter().map(|turn| milliseconds(turn.first)).collect();
        let mut all: Vec<f64> = self.done.iter().map(|turn| milliseconds(turn.took)).collect();
        say(&format!(
            "{} turns in {:.1} s; first text after {:.0} ms (99 of 100 within {:.0} ms), the end after {:.0} ms ({:.0} ms)",
            self.done.len(),
            self.took.as_secs_f64(),
            median(&mut firsts),
            percentile(&mut firsts, 0.99),
            median(&mut all),
            percentile(&mut all, 0.99),
        ));
        let (continued, times) = self
            .done
            .iter()
            .fold((0, 0), |(turns, times), turn| (turns + usize::from(turn.continued > 0), times + turn.continued));
        if continued > 0 {
            say(&format!("{continued} of them were interrupted and resumed, {times} times in total"));
        }
        for trouble in self.troubles.iter().take(MAX_LISTED) {
            say(&format!("{trouble:#}"));
        }
        if self.troubles.len() > MAX_LISTED {
            say(&format!("and {} more", self.troubles.len() - MAX_LISTED));
        }
    }
}

/// Resources of the server after a round.
pub(super) struct Sample {
    /// Resident memory, in bytes.
    pub(super) memory: u64,
    pub(super) files: usize,
    /// Size of the database in bytes, if it has its own folder.
    pub(super) database: Option<u64>,
}

/// Prints the samples as a table, one line per round.
pub(super) fn print(samples: &[Sample]) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "| round | memory (MiB) | open files | database (MiB) |\n|---|---|---|---|")?;
    for (round, Sample { memory, files, database }) in (1..).zip(samples) {
        let database = database.map_or_else(|| "–".to_owned(), |bytes| format!("{:.1}", mebibytes(bytes)));
        writeln!(out, "| {round} | {:.1} | {files} | {database} |", mebibytes(*memory))?;
    }
    Ok(())
}

/// Returns the total size of the files in a folder, in bytes.
pub(super) fn size_of(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let metadata = entry?.metadata()?;
        if metadata.is_file() {
            bytes += metadata.len();
        }
    }
    Ok(bytes)
}
