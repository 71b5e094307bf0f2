//! Progress messages for the user. They go to stderr, so that stdout belongs to the program that is run.

use std::{
    io::{self, Write as _},
    time::{Duration, Instant},
};

/// Prints one line.
pub(crate) fn say(line: &str) {
    // Ignores a closed stderr.
    let _ = writeln!(io::stderr().lock(), "xtask: {line}");
}

/// An announced step of work. Its end is reported with its duration.
pub(crate) struct Step {
    name: &'static str,
    began: Instant,
}

impl Step {
    /// Announces `name`. `remark` says what to expect.
    pub(crate) fn begin(name: &'static str, remark: &str) -> Self {
        say(&if remark.is_empty() { format!("{name}…") } else { format!("{name} ({remark})…") });
        Self { name, began: Instant::now() }
    }

    /// Reports that the work is done, with its result.
    pub(crate) fn done(self, result: &str) {
        let took = seconds(self.began.elapsed());
        say(&if result.is_empty() {
            format!("{}: done in {took}", self.name)
        } else {
            format!("{}: done in {took}, {result}", self.name)
        });
    }
}

/// Formats a duration: `0.4 s`, `3 min 12 s`.
fn seconds(duration: Duration) -> String {
    match duration.as_secs() {
        whole @ 60.. => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{:.1} s", duration.as_secs_f64()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_formatted_for_people() {
        assert_eq!(seconds(Duration::from_millis(440)), "0.4 s");
        assert_eq!(seconds(Duration::from_secs(192)), "3 min 12 s");
    }
}
