//! The turn as its reader received it, built as the page does it, but strictly. These are errors here: a gap in the
//! text, text that comes twice on one connection, and a call that starts twice.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, bail, ensure};
use tallybook_protocol::{
    ChatEvent, MessageStatus, ToolCallId,
    sse::{Decoder, Frame},
};

/// The state of a turn as a reader knows it.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub(super) text: String,
    /// ID of the last event, from which to resume.
    pub(super) last_id: Option<String>,
    /// Final status of the turn; `None` while it runs.
    pub(super) end: Option<MessageStatus>,
    started: BTreeSet<ToolCallId>,
    ended: BTreeSet<ToolCallId>,
    /// `true` if this connection has sent text, so further text must follow it.
    has_text: bool,
    /// `true` after the first connection. A reader that reconnects after the end receives only the end, with all of the
    /// text.
    is_back: bool,
    decoder: Decoder,
    /// `true` if servers are killed during the test. Text of the last 250 milliseconds may then be lost with a server.
    disturbed: bool,
}

impl Record {
    pub(super) fn new(disturbed: bool) -> Self {
        Self { disturbed, ..Self::default() }
    }

    /// Adds the next bytes of a connection.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Result<()> {
        let frames = self.decoder.push(bytes).map_err(|error| anyhow::anyhow!("{error}"))?;
        frames.into_iter().try_for_each(|frame| self.take(frame))
    }

    /// Starts a new connection.
    pub(super) fn reconnect(&mut self) {
        self.decoder = Decoder::new();
        self.has_text = false;
        self.is_back = true;
    }

    fn take(&mut self, frame: Frame) -> Result<()> {
        ensure!(self.end.is_none(), "{} comes after the end", frame.event);
        let event = ChatEvent::parse(&frame.event, &frame.data)
            .with_context(|| format!("{} is not a valid event", frame.event))?;
        // The ID of a frame without its own ID is that of an earlier frame.
        let is_kept = frame.id.is_some() && frame.id != self.last_id;
        self.last_id = frame.id.or(self.last_id.take());
        match event {
            ChatEvent::ContentDelta(delta) => self.add(delta.offset, &delta.delta)?,
            ChatEvent::Snapshot(snapshot) => {
                let takes_back = self.disturbed && self.text.starts_with(&snapshot.content);
                ensure!(takes_back || snapshot.content.starts_with(&self.text), "a snapshot removes text");
                self.text = snapshot.content;
                self.started = snapshot.tool_calls.iter().map(|call| call.tool_call_id).collect();
            }
            ChatEvent::ToolCallStart(call) => {
                ensure!(self.started.insert(call.tool_call_id), "a call starts twice");
            }
            ChatEvent::ToolCallEnd(call) => ensure!(self.ended.insert(call.tool_call_id), "a call ends twice"),
            ChatEvent::MessageEnd(end) => {
                if self.disturbed && end.status == MessageStatus::Interrupted && self.text.starts_with(&end.content) {
                    self.text.truncate(end.content.len());
                }
                if self.is_back && !self.has_text && end.content.starts_with(&self.text) {
                    self.text.clone_from(&end.content);
                }
                ensure!(end.content == self.text, "the end has different text than the reader received");
                ensure!(self.ended.iter().all(|id| self.started.contains(id)), "a call ends that never started");
                self.end = Some(end.status);
            }
            // The error is not a stored event. The server cannot serve this reader, but others can.
            ChatEvent::Error(_) if self.disturbed && !is_kept => {}
            ChatEvent::Error(error) => bail!("the turn failed: {} ({})", error.error, error.code),
            _ => {}
        }
        Ok(())
    }

    /// Adds text that continues the known text. On a new connection it may start with known text.
    fn add(&mut self, offset: i64, delta: &str) -> Result<()> {
        let offset = usize::try_from(offset).context("a delta has a negative offset")?;
        ensure!(offset <= self.text.len(), "text is missing from {} to {offset}", self.text.len());
        let known = self.text.len() - offset;
        ensure!(known == 0 || !self.has_text, "text comes twice from {offset}");
        self.has_text = true;
        let (again, new) = delta.split_at_checked(known.min(delta.len())).context("text is cut within a character")?;
        ensure!(self.text[offset..].starts_with(again), "text from {offset} has changed");
        self.text.push_str(new);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Record;

    fn delta(offset: usize, text: &str) -> Vec<u8> {
        format!("id: 1.1.1\nevent: content_delta\ndata: {{\"offset\":{offset},\"delta\":\"{text}\"}}\n\n").into_bytes()
    }

    #[test]
    fn missing_and_duplicate_text_is_detected() {
        let mut record = Record::default();
        record.read(&delta(0, "one ")).unwrap();
        record.read(&delta(4, "two ")).unwrap();
        assert!(record.read(&delta(9, "four")).unwrap_err().to_string().contains("missing from 8 to 9"));
        assert!(record.read(&delta(4, "two ")).unwrap_err().to_string().contains("comes twice"));
        record.reconnect();
        record.read(&delta(4, "two three ")).unwrap();
        assert_eq!(record.text, "one two three ");
        record.reconnect();
        assert!(record.read(&delta(4, "six")).unwrap_err().to_string().contains("has changed"));
    }

    #[test]
    fn the_end_may_add_text_only_if_its_connection_sent_none() {
        let end = br#"event: message_end
data: {"assistant_message_id":2,"content":"one two ","tool_calls":[],"status":"complete","usage":{"input_tokens":1,"output_tokens":2,"cached_tokens":0}}

"#;
        let other = |record: &mut Record| record.read(end).unwrap_err().to_string().contains("different text");
        let mut record = Record::default();
        record.read(&delta(0, "one ")).unwrap();
        assert!(other(&mut record), "text was left out");
        record.reconnect();
        record.read(end).unwrap();
        assert_eq!(record.text, "one two ");
        let mut record = Record::default();
        record.read(&delta(0, "one ")).unwrap();
        record.reconnect();
        record.read(&delta(4, "t")).unwrap();
        assert!(other(&mut record), "text was left out by a connection that sent some");
        let mut record = Record::default();
        record.read(&delta(0, "one three ")).unwrap();
        record.reconnect();
        assert!(other(&mut record), "the reader received different text");
    }

    #[test]
    fn an_unserved_reader_is_accepted_if_servers_are_killed() {
        let error =
            b"event: error\ndata: {\"error\":\"The database is unreachable.\",\"code\":\"storage_unavailable\"}\n\n";
        let accepted = |disturbed: bool, id: &[u8]| {
            let mut record = Record::new(disturbed);
            record.read(&delta(0, "one ")).unwrap();
            record.read(&[id, error].concat()).is_ok()
        };
        assert!(accepted(true, b""));
        assert!(!accepted(true, b"id: 1.1.2\n") && !accepted(false, b""));
    }

    #[test]
    fn a_call_that_starts_twice_is_detected() {
        let start = br#"data: {"tool_call_id":7,"tool_name":"add","input":{},"offset":0}"#;
        let frame = [b"event: tool_call_start\n", &start[..], b"\n\n"].concat();
        let mut record = Record::default();
        record.read(&frame).unwrap();
        assert!(record.read(&frame).unwrap_err().to_string().contains("starts twice"));
    }
}
