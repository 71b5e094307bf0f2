//! The client of a request as its connection knows it: whether it is still there, and whether it is being served without
//! anything being written to it yet. What the connection makes of that is in `connection`.

use std::{
    future::{Ready, ready},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use actix_web::{Error, FromRequest, HttpRequest, dev::Payload};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// One end of a connection. Cheap to clone; all clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Peer(Arc<State>);

#[derive(Debug, Default)]
struct State {
    gone: CancellationToken,
    served: AtomicUsize,
}

impl Peer {
    /// Notes that nothing more comes from the client.
    pub(super) fn note_gone(&self) {
        self.0.gone.cancel();
    }

    /// Done when nothing more comes from the client, whose going away looks the same.
    pub(super) fn gone(&self) -> WaitForCancellationFutureOwned {
        self.0.gone.clone().cancelled_owned()
    }

    /// Keeps the connection open while a long answer is made, until what is returned is dropped.
    pub(super) fn served(&self) -> Served {
        self.0.served.fetch_add(1, Ordering::Relaxed);
        Served(Arc::clone(&self.0))
    }

    /// Whether a long answer is being made.
    pub(super) fn is_served(&self) -> bool {
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

/// A long answer that is being made.
#[derive(Debug)]
pub(super) struct Served(Arc<State>);

impl Drop for Served {
    fn drop(&mut self) {
        self.0.served.fetch_sub(1, Ordering::Relaxed);
    }
}
