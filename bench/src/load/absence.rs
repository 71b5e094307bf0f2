//! Measures how long the servers did not answer, with repeated requests like those of a page that reloads its
//! conversations.

use std::{convert::Infallible, time::Duration};

use tokio::time::{Instant, sleep, timeout};

use super::servers::Servers;
use crate::listen::say;

/// Pause between two requests.
const PAUSE: Duration = Duration::from_millis(250);

/// Time after which a request counts as unanswered. About then, users press a button again.
const TIMEOUT: Duration = Duration::from_secs(15);

/// The result of the measurement.
#[derive(Default)]
pub(super) struct Absence {
    asked: usize,
    unanswered: usize,
    /// Maximum time from one answer to the next.
    longest: Duration,
}

impl Absence {
    /// Sends requests until the future is dropped.
    pub(super) async fn watch(&mut self, servers: &Servers) -> Infallible {
        let mut answered = Instant::now();
        loop {
            let url = format!("{}/api/conversations?limit=20", servers.url(self.asked, 0));
            let answer = timeout(TIMEOUT, servers.client.get(url).send()).await;
            self.asked += 1;
            self.longest = self.longest.max(answered.elapsed());
            if matches!(answer, Ok(Ok(response)) if response.status().is_success()) {
                answered = Instant::now();
            } else {
                self.unanswered += 1;
            }
            sleep(PAUSE).await;
        }
    }

    /// Prints the result to stderr.
    pub(super) fn say(&self) {
        let Self { asked, unanswered, longest } = self;
        let seconds = longest.as_secs_f64();
        say(&format!(
            "{unanswered} of {asked} requests for the list were not answered; the longest time without an answer was {seconds:.1} s"
        ));
    }
}
