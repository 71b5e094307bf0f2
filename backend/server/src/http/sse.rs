//! Server-sent events: the answer's headers, events as bytes, and a comment now and then so that nobody between takes a
//! silent stream for a dead one.

use std::{collections::VecDeque, convert::Infallible, time::Duration};

use actix_web::{HttpResponse, http::header};
use async_stream::stream;
use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use tallybook_protocol::{
    ChatEvent,
    sse::{KEEP_ALIVE_HEADER, write_frame},
};
use tokio::time::{Instant, sleep_until, timeout};

use crate::{
    conversation::EventsAnswer,
    journal::{LogEntry, WireFormat},
};

/// A sign of life that no reader takes for an event.
pub(super) const KEEP_ALIVE: Bytes = Bytes::from_static(b": keep-alive\n\n");

/// Bytes that are handed to a connection at a time. For a slow reader so much waits in its connection; the rest stays in
/// the buffer that all readers share.
const MAX_WRITE_BYTES: usize = 64 * 1024;

/// How long a fast stream waits between two writes, so that what comes meanwhile is written together: each write is a call of the
/// system's.
const PACE: Duration = Duration::from_millis(1);

/// How many writes may follow one another at once before a stream counts as fast. A turn's beginning and some tool calls are fewer.
const QUICK_WRITES: u32 = 16;

/// Answers with the events of a turn, and a sign of life after each `keep_alive` without one; with 204 when there are
/// none.
pub(super) fn respond(answer: EventsAnswer, keep_alive: Duration) -> HttpResponse {
    match answer {
        EventsAnswer::Turn(mut turn) => {
            respond_with(keep_alive, KEEP_ALIVE, async move || Some(frames(turn.next().await?)))
        }
        EventsAnswer::Nothing => HttpResponse::NoContent().finish(),
    }
}

/// A frame that is to be written, with the event that it is of: while one connection holds it, others share its bytes.
pub(super) struct Frame {
    bytes: Bytes,
    #[expect(dead_code, reason = "held so that other connections find its bytes")]
    entry: Option<LogEntry>,
}

impl From<String> for Frame {
    fn from(frame: String) -> Self {
        Self { bytes: frame.into(), entry: None }
    }
}

impl From<Bytes> for Frame {
    fn from(bytes: Bytes) -> Self {
        Self { bytes, entry: None }
    }
}

/// Events as frames, each made once for all its readers.
fn frames(entries: Vec<LogEntry>) -> Vec<Frame> {
    let frame = |entry: LogEntry| {
        let bytes = entry.encoded(WireFormat::ChatEvents, || frame(&entry));
        Frame { bytes, entry: Some(entry) }
    };
    entries.into_iter().map(frame).collect()
}

fn frame(entry: &LogEntry) -> Bytes {
    let event = entry.event();
    match entry.json() {
        Ok(data) => write_frame(entry.id().map(|id| id.to_string()).as_deref(), event.name(), &data).into(),
        Err(error) => {
            tracing::error!(%error, event = event.name(), "an event cannot be written as JSON");
            // A reader skips what it does not know, and goes on to the terminal event.
            write_frame(None, ChatEvent::Unknown.name(), "null").into()
        }
    }
}

/// Answers with what `next` gives until it gives nothing more. It gives signs of life itself.
pub(super) fn respond_by(next: impl AsyncFnMut() -> Option<Vec<Frame>> + 'static) -> HttpResponse {
    respond_with(Duration::MAX, Bytes::new(), next)
}

/// Answers with what `next` gives until it gives nothing more, and `sign_of_life` after each `keep_alive` in which it gives
/// nothing.
pub(super) fn respond_with(
    keep_alive: Duration,
    sign_of_life: Bytes,
    next: impl AsyncFnMut() -> Option<Vec<Frame>> + 'static,
) -> HttpResponse {
    let mut response = HttpResponse::Ok();
    if keep_alive != Duration::MAX {
        // Readers notice a dead connection by the keep-alives that they miss.
        response.insert_header((KEEP_ALIVE_HEADER, keep_alive.as_secs().max(1)));
    }
    response
        .content_type("text/event-stream")
        .insert_header((header::CACHE_CONTROL, "no-store"))
        // Asks proxies (nginx) to pass every event on at once.
        .insert_header(("X-Accel-Buffering", "no"))
        .streaming(kept_alive(keep_alive, sign_of_life, next))
}

fn kept_alive(
    every: Duration,
    sign_of_life: Bytes,
    mut next: impl AsyncFnMut() -> Option<Vec<Frame>>,
) -> impl Stream<Item = Result<Bytes, Infallible>> {
    stream! {
        let (mut written_at, mut quick) = (Instant::now(), 0);
        loop {
            if quick > QUICK_WRITES {
                sleep_until(written_at + PACE).await;
            }
            match timeout(every, next()).await {
                Ok(Some(frames)) => {
                    let before = std::mem::replace(&mut written_at, Instant::now());
                    // Timers are as late as that.
                    quick = if written_at - before <= 2 * PACE { quick + 1 } else { 0 };
                    let mut frames = VecDeque::from(frames);
                    while let Some(bytes) = next_write(&mut frames) {
                        yield Ok(bytes);
                    }
                }
                Ok(None) => break,
                Err(_) => yield Ok(sign_of_life.clone()),
            }
        }
    }
}

/// What is written next: small frames together, of a large one a piece.
fn next_write(frames: &mut VecDeque<Frame>) -> Option<Bytes> {
    let first = &mut frames.front_mut()?.bytes;
    if first.len() > MAX_WRITE_BYTES {
        return Some(first.split_to(MAX_WRITE_BYTES));
    }
    let first = frames.pop_front()?.bytes;
    if frames.front().is_none_or(|second| first.len() + second.bytes.len() > MAX_WRITE_BYTES) {
        return Some(first);
    }
    let mut joined = BytesMut::from(first);
    while let Some(frame) = frames.pop_front_if(|frame| joined.len() + frame.bytes.len() <= MAX_WRITE_BYTES) {
        joined.extend_from_slice(&frame.bytes);
    }
    Some(joined.freeze())
}

#[cfg(test)]
mod tests {
    use super::{MAX_WRITE_BYTES, next_write};

    #[test]
    fn small_frames_are_written_together_and_large_ones_in_pieces() {
        let sizes = [10, 20, MAX_WRITE_BYTES - 29, 2 * MAX_WRITE_BYTES + 5, 7];
        let mut frames = sizes.iter().map(|&size| "x".repeat(size).into()).collect();
        let mut written = Vec::new();
        while let Some(bytes) = next_write(&mut frames) {
            written.push(bytes.len());
        }
        assert_eq!(written, [30, MAX_WRITE_BYTES - 29, MAX_WRITE_BYTES, MAX_WRITE_BYTES, 12]);
    }
}
