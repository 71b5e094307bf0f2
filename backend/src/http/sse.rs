//! Writing server-sent events: the answer's headers, and a comment now and then so that nobody between takes a silent
//! stream for a dead one.

use std::{convert::Infallible, time::Duration};

use actix_web::{HttpResponse, http::header};
use async_stream::stream;
use bytes::Bytes;
use futures_util::Stream;
use tokio::time::timeout;

use crate::conversation::EventsAnswer;

const KEEP_ALIVE: Bytes = Bytes::from_static(b": keep-alive\n\n");

/// Answers with the events of a turn, and a sign of life after each `keep_alive` without one; with 204 when there are
/// none.
pub(super) fn respond(answer: EventsAnswer, keep_alive: Duration) -> HttpResponse {
    match answer {
        EventsAnswer::Live(mut turn) => respond_with(keep_alive, async move || turn.next().await),
        EventsAnswer::Stored(mut frames) => respond_with(keep_alive, async move || frames.recv().await),
        EventsAnswer::Once(frame) => {
            let mut frame = Some(frame);
            respond_with(keep_alive, async move || frame.take())
        }
        EventsAnswer::Nothing => HttpResponse::NoContent().finish(),
    }
}

/// Answers with what `next` gives until it gives nothing more.
pub(super) fn respond_with(keep_alive: Duration, next: impl AsyncFnMut() -> Option<Bytes> + 'static) -> HttpResponse {
    HttpResponse::Ok()
        .content_type("text/event-stream")
        .insert_header((header::CACHE_CONTROL, "no-store"))
        // Asks proxies (nginx) to pass every event on at once.
        .insert_header(("X-Accel-Buffering", "no"))
        .streaming(kept_alive(keep_alive, next))
}

fn kept_alive(
    every: Duration,
    mut next: impl AsyncFnMut() -> Option<Bytes>,
) -> impl Stream<Item = Result<Bytes, Infallible>> {
    stream! {
        loop {
            match timeout(every, next()).await {
                Ok(Some(bytes)) => yield Ok(bytes),
                Ok(None) => break,
                Err(_) => yield Ok(KEEP_ALIVE),
            }
        }
    }
}
