//! How long nobody answered, seen by somebody who asks again and again, as the page does that looks for its conversations.

use std::{convert::Infallible, time::Duration};

use tokio::time::{Instant, sleep, timeout};

use super::servers::Servers;
use crate::listen::say;

/// The pause between two questions.
const PAUSE: Duration = Duration::from_millis(250);

/// How long one may take until it counts as unanswered. People press a button again after that.
const PATIENCE: Duration = Duration::from_secs(15);

/// What was seen.
#[derive(Default)]
pub(super) struct Absence {
    asked: usize,
    unanswered: usize,
    /// From one answer to the next one, at most.
    longest: Duration,
}

impl Absence {
    /// Asks for as long as it is polled.
    pub(super) async fn look(&mut self, servers: &Servers) -> Infallible {
        let mut answered = Instant::now();
        loop {
            let url = format!("{}/api/conversations?limit=20", servers.url(self.asked, 0));
            let answer = timeout(PATIENCE, servers.client.get(url).send()).await;
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

    /// Tells a person.
    pub(super) fn say(&self) {
        let Self { asked, unanswered, longest } = self;
        let seconds = longest.as_secs_f64();
        say(&format!(
            "of {asked} looks at the list {unanswered} were not answered; there was no answer for {seconds:.1} s at most"
        ));
    }
}
