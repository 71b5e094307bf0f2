//! The client's end of a connection, shared by the connection and its handlers. It records whether the client has
//! disconnected, and whether a handler is producing a long answer for the client. `connection` uses both.

use std::{
    future::{Ready, ready},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use actix_web::{Error, FromRequest, HttpRequest, dev::Payload};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// The client's end of a connection. All clones share the same state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Peer(Arc<State>);

#[derive(Debug, Default)]
struct State {
    gone: CancellationToken,
    served: AtomicUsize,
}

impl Peer {
    /// Records that the client has disconnected or closed its side of the connection.
    pub(crate) fn note_gone(&self) {
        self.0.gone.cancel();
    }

    /// Completes when the client has disconnected or closed its side of the connection, which the server cannot
    /// distinguish.
    pub(crate) fn gone(&self) -> WaitForCancellationFutureOwned {
        self.0.gone.clone().cancelled_owned()
    }

    /// Keeps the connection open while a long answer is produced, until the returned value is dropped.
    pub(crate) fn served(&self) -> Served {
        self.0.served.fetch_add(1, Ordering::Relaxed);
        Served(Arc::clone(&self.0))
    }

    /// Returns `true` while a long answer is produced.
    pub(crate) fn is_served(&self) -> bool {
        self.0.served.load(Ordering::Relaxed) > 0
    }
}

impl FromRequest for Peer {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Ok(request.conn_data::<Self>().cloned().unwrap_or_default()))
    }
}

/// A long answer that is being produced.
#[derive(Debug)]
pub(crate) struct Served(Arc<State>);

impl Drop for Served {
    fn drop(&mut self) {
        self.0.served.fetch_sub(1, Ordering::Relaxed);
    }
}
