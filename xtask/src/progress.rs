//! The lines that tell a person what is going on. They go to stderr, so that stdout belongs to what is being run.

use std::{
    io::{self, Write as _},
    time::{Duration, Instant},
};

/// Says one line.
pub(crate) fn say(line: &str) {
    // A closed stderr is no reason to stop working.
    let _ = writeln!(io::stderr().lock(), "xtask: {line}");
}

/// A piece of work that was announced, to be followed by how long it took.
pub(crate) struct Step {
    name: &'static str,
    began: Instant,
}

impl Step {
    /// Announces `name`, with a remark that says what to expect.
    pub(crate) fn begin(name: &'static str, remark: &str) -> Self {
        say(&if remark.is_empty() { format!("{name}…") } else { format!("{name} ({remark})…") });
        Self { name, began: Instant::now() }
    }

    /// Says that the work is done, and what came of it.
    pub(crate) fn done(self, result: &str) {
        let took = seconds(self.began.elapsed());
        say(&if result.is_empty() {
            format!("{}: done in {took}", self.name)
        } else {
            format!("{}: done in {took}, {result}", self.name)
        });
    }
}

/// A duration as a person says it: `0.4 s`, `3 min 12 s`.
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
    fn durations_read_as_people_say_them() {
        assert_eq!(seconds(Duration::from_millis(440)), "0.4 s");
        assert_eq!(seconds(Duration::from_secs(192)), "3 min 12 s");
    }
}
