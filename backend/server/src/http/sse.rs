//! Server-sent events: the response headers, the encoding of events, and keep-alive comments, which prevent proxies
//! from closing a silent stream.

use std::{collections::VecDeque, convert::Infallible, time::Duration};

use actix_web::{HttpResponse, http::header};
use async_stream::stream;
use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use tallybook_conversations::{
    EventsAnswer,
    journal::{LogEntry, TurnSubscription, WireFormat},
};
use tallybook_protocol::{
    ChatEvent,
    sse::{KEEP_ALIVE_HEADER, write_frame},
};
use tokio::time::{Instant, sleep_until, timeout};

/// A keep-alive that clients do not take for an event.
pub(crate) const KEEP_ALIVE: Bytes = Bytes::from_static(b": keep-alive\n\n");

/// Maximum number of bytes per write. For a slow client, at most this much waits in its connection; the rest stays in
/// the buffer that all subscribers share.
const MAX_WRITE_BYTES: usize = 64 * 1024;

/// Interval between two writes of a fast stream. Events that arrive in between are written together, because each write
/// is a system call.
const PACE: Duration = Duration::from_millis(1);

/// Number of quick writes in a row after which a stream counts as fast. The start of a turn, or a few tool calls, cause
/// fewer.
const QUICK_WRITES: u32 = 16;

/// Streams the events of a turn, if there are any. Returns 204 otherwise.
pub(crate) fn respond(answer: EventsAnswer, keep_alive: Duration) -> HttpResponse {
    match answer {
        EventsAnswer::Turn(turn) => respond_turn(turn, keep_alive),
        EventsAnswer::Nothing => HttpResponse::NoContent().finish(),
    }
}

/// Streams the events of a turn, with a keep-alive after each `keep_alive` without an event.
pub(crate) fn respond_turn(mut turn: TurnSubscription, keep_alive: Duration) -> HttpResponse {
    respond_with(keep_alive, KEEP_ALIVE, async move || Some(frames(turn.next().await?)))
}

/// A frame to write. It holds its event, because connections share an event's bytes only while one of them holds the
/// event.
pub(crate) struct Frame {
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

/// Returns events as frames. Each event is encoded once for all subscribers.
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
            // A client skips an unknown event and continues to the terminal event.
            write_frame(None, ChatEvent::Unknown.name(), "null").into()
        }
    }
}

/// Streams what `next` returns until it returns `None`. `next` itself returns keep-alives.
pub(crate) fn respond_by(next: impl AsyncFnMut() -> Option<Vec<Frame>> + 'static) -> HttpResponse {
    respond_with(Duration::MAX, Bytes::new(), next)
}

/// Streams what `next` returns until it returns `None`. Sends `keep_alive_frame` after each `keep_alive` in which
/// `next` returns nothing.
pub(crate) fn respond_with(
    keep_alive: Duration,
    keep_alive_frame: Bytes,
    next: impl AsyncFnMut() -> Option<Vec<Frame>> + 'static,
) -> HttpResponse {
    let mut response = HttpResponse::Ok();
    if keep_alive != Duration::MAX {
        // Clients recognize a dead connection by missing keep-alives.
        response.insert_header((KEEP_ALIVE_HEADER, keep_alive.as_secs().max(1)));
    }
    response
        .content_type("text/event-stream")
        .insert_header((header::CACHE_CONTROL, "no-store"))
        // Asks proxies (nginx) to pass on every event at once.
        .insert_header(("X-Accel-Buffering", "no"))
        .streaming(kept_alive(keep_alive, keep_alive_frame, next))
}

fn kept_alive(
    every: Duration,
    keep_alive_frame: Bytes,
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
                    // Twice `PACE`, because timers can be late.
                    quick = if written_at - before <= 2 * PACE { quick + 1 } else { 0 };
                    let mut frames = VecDeque::from(frames);
                    while let Some(bytes) = next_write(&mut frames) {
                        yield Ok(bytes);
                    }
                }
                Ok(None) => break,
                Err(_) => yield Ok(keep_alive_frame.clone()),
            }
        }
    }
}

/// Returns the bytes to write next: small frames together, or a piece of a large one.
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
