//! A gate in a reply: the server stops there until the test opens it, so that tests wait for events and never for time.

use std::time::Duration;

use tokio::sync::watch;

/// Timeout of a test that waits for an event. The test then fails with a message.
const WAIT_TIMEOUT: Duration = Duration::from_secs(20);

/// The state of a gated reply.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    reached: bool,
    open: bool,
    abandoned: bool,
}

/// The test's handle to a gated reply; see [`crate::MockLlm::reply_gated`]. Clones share one gate.
#[derive(Clone, Debug)]
pub struct Gate {
    state: watch::Sender<State>,
}

impl Gate {
    pub(crate) fn new() -> Self {
        Self { state: watch::Sender::new(State::default()) }
    }

    /// Lets the reply continue. It may be called before the server reaches the gate.
    pub fn open(&self) {
        self.state.send_modify(|state| state.open = true);
    }

    /// Waits until the server has handed everything before the gate to its connection.
    ///
    /// # Panics
    /// Panics if that does not happen within 20 seconds.
    pub async fn reached(&self) {
        self.wait("the model server never came to the gate", |state| state.reached).await;
    }

    /// Waits until the client has closed the connection while the reply waited at the gate.
    ///
    /// # Panics
    /// Panics if that does not happen within 20 seconds.
    pub async fn abandoned(&self) {
        self.wait("the client never closed its connection to the model server", |state| state.abandoned).await;
    }

    /// Called by the server: waits until the test opens the gate. If the future is dropped before that, the client has
    /// closed its connection.
    pub(crate) async fn pass(&self) {
        let mut arrival = Arrival { gate: self, passed: false };
        self.state.send_modify(|state| state.reached = true);
        // The sender lives in `self`, so waiting cannot fail.
        let _ = self.state.subscribe().wait_for(|state| state.open).await;
        arrival.passed = true;
    }

    async fn wait(&self, complaint: &str, mut condition: impl FnMut(&State) -> bool) {
        let mut watcher = self.state.subscribe();
        let outcome = tokio::time::timeout(WAIT_TIMEOUT, watcher.wait_for(|state| condition(state))).await;
        assert!(outcome.is_ok(), "{complaint} within {} s", WAIT_TIMEOUT.as_secs());
    }
}

/// Detects that the reply is dropped while it waits at the gate.
struct Arrival<'a> {
    gate: &'a Gate,
    passed: bool,
}

impl Drop for Arrival<'_> {
    fn drop(&mut self) {
        if !self.passed {
            self.gate.state.send_modify(|state| state.abandoned = true);
        }
    }
}
