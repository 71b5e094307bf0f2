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
const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(5);

/// Answers with the events of a turn; with 204 when there are none.
pub(super) fn respond(answer: EventsAnswer) -> HttpResponse {
    match answer {
        EventsAnswer::Live(mut turn) => respond_with(async move || turn.next().await),
        EventsAnswer::Stored(mut frames) => respond_with(async move || frames.recv().await),
        EventsAnswer::Once(frame) => {
            let mut frame = Some(frame);
            respond_with(async move || frame.take())
        }
        EventsAnswer::Nothing => HttpResponse::NoContent().finish(),
    }
}

/// Answers with what `next` gives until it gives nothing more.
pub(super) fn respond_with(next: impl AsyncFnMut() -> Option<Bytes> + 'static) -> HttpResponse {
    HttpResponse::Ok()
        .content_type("text/event-stream")
        .insert_header((header::CACHE_CONTROL, "no-store"))
        // Asks proxies (nginx) to pass every event on at once.
        .insert_header(("X-Accel-Buffering", "no"))
        .streaming(kept_alive(next))
}

fn kept_alive(mut next: impl AsyncFnMut() -> Option<Bytes>) -> impl Stream<Item = Result<Bytes, Infallible>> {
    stream! {
        loop {
            match timeout(KEEP_ALIVE_EVERY, next()).await {
                Ok(Some(bytes)) => yield Ok(bytes),
                Ok(None) => break,
                Err(_) => yield Ok(KEEP_ALIVE),
            }
        }
    }
}
