//! Checks the stored events of a turn. Each event must continue the previous one, start and end once, and all together
//! must give the stored answer. Unlike the record of a reader (`record`), the stored events may have no gaps.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use tallybook_protocol::{ChatEvent, Message, Playback, PlayedEvent, ToolCallId, ToolCallStatus};

use super::servers::Servers;

/// Maximum number of pages.
const MAX_PAGES: usize = 1000;

/// Reads and checks the stored events of an answer.
pub(super) async fn check(servers: &Servers, number: usize, uuid: &str, answer: &Message) -> Result<()> {
    let base = format!("{}/api/conversations/{uuid}/messages/{}/playback", servers.url(number, 1), answer.id.0);
    let (mut events, mut url) = (Vec::new(), base.clone());
    for _ in 0..MAX_PAGES {
        let page: Playback = servers.read(&url).await?;
        events.extend(page.items);
        match page.next {
            Some(next) => url = format!("{base}?after={next}"),
            None => return play(&events, answer).context("in the stored events"),
        }
    }
    anyhow::bail!("the stored events have no end")
}

#[derive(Default)]
struct Played {
    text: String,
    started: BTreeSet<ToolCallId>,
    ended: BTreeSet<ToolCallId>,
    /// `true` if the run of these events has ended.
    is_over: bool,
}

fn play(events: &[PlayedEvent], answer: &Message) -> Result<()> {
    ensure!(events.first().is_some_and(|first| first.event == "message_start"), "the beginning is missing");
    let mut played = Played::default();
    for (place, event) in events.iter().enumerate() {
        let parsed = event.parse().with_context(|| format!("{} is not a valid event", event.event))?;
        ensure!((place == 0) == matches!(parsed, ChatEvent::MessageStart(_)), "the turn starts twice");
        played.take(parsed).with_context(|| format!("event {place}, a {}", event.event))?;
    }
    ensure!(played.is_over, "the end is missing");
    ensure!(played.text == answer.content, "the events have different text than the answer");
    let begun = answer.tool_calls.iter().filter(|call| call.status != ToolCallStatus::Cancelled);
    let begun: BTreeSet<_> = begun.map(|call| call.tool_call_id).collect();
    ensure!(played.started == begun, "the events have the calls {:?}, the rows have {begun:?}", played.started);
    Ok(())
}

impl Played {
    fn take(&mut self, event: ChatEvent) -> Result<()> {
        ensure!(!self.is_over || matches!(event, ChatEvent::Snapshot(_)), "the event comes after the end");
        match event {
            ChatEvent::ContentDelta(delta) => {
                let follows = usize::try_from(delta.offset) == Ok(self.text.len());
                ensure!(follows, "a delta has the offset {}, but the text ends at {}", delta.offset, self.text.len());
                self.text.push_str(&delta.delta);
            }
            // The start of a further run. It discards the text that it does not continue.
            ChatEvent::Snapshot(snapshot) => {
                ensure!(self.is_over, "a run starts before the previous run has ended");
                ensure!(self.text.starts_with(&snapshot.content), "a run continues different text");
                (self.text, self.is_over) = (snapshot.content, false);
            }
            ChatEvent::ToolCallStart(call) => {
                ensure!(self.started.insert(call.tool_call_id), "the call starts twice");
            }
            ChatEvent::ToolCallEnd(call) => {
                ensure!(self.started.contains(&call.tool_call_id), "the call never started");
                ensure!(self.ended.insert(call.tool_call_id), "the call ends twice");
            }
            ChatEvent::MessageEnd(end) => {
                ensure!(end.content == self.text, "the end has different text than the events before it");
                self.is_over = true;
            }
            ChatEvent::Error(error) => anyhow::bail!("the turn failed: {} ({})", error.error, error.code),
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tallybook_protocol::{Message, PlayedEvent, Usage};

    use super::play;

    const START: (&str, &str) = (
        "message_start",
        r#"{"user_message_id":1,"assistant_message_id":2,"conversation_id":"00000000-0000-0000-0000-000000000000","content":"?","parent_id":null,"user_siblings":[1],"assistant_siblings":[2]}"#,
    );
    const CALL: (&str, &str) = ("tool_call_start", r#"{"tool_call_id":7,"tool_name":"add","input":{},"offset":0}"#);
    const END_OF_CALL: (&str, &str) =
        ("tool_call_end", r#"{"tool_call_id":7,"status":"success","output":"3","error":null,"duration_ms":1}"#);
    const ONE: (&str, &str) = ("content_delta", r#"{"offset":0,"delta":"one "}"#);
    const TWO: (&str, &str) = ("content_delta", r#"{"offset":4,"delta":"two "}"#);

    fn end(text: &str) -> String {
        let usage = Usage::default();
        json!({"assistant_message_id": 2, "content": text, "tool_calls": [], "status": "complete", "usage": usage})
            .to_string()
    }

    fn outcome(events: &[(&str, &str)]) -> String {
        let events = events.iter().map(|(event, data)| {
            let data: Value = serde_json::from_str(data).unwrap();
            json!({"event": event, "data": data, "at": "2026-01-01T00:00:00Z"})
        });
        let events: Vec<PlayedEvent> = serde_json::from_value(events.collect()).unwrap();
        let call = json!({"tool_call_id": 7, "tool_name": "add", "input": {}, "offset": 0, "status": "success",
            "output": "3", "error": null, "duration_ms": 1, "started_at": "2026-01-01T00:00:00Z"});
        let answer = json!({"id": 2, "role": "assistant", "content": "one two ", "status": "complete",
            "tool_calls": [call], "created_at": "2026-01-01T00:00:00Z"});
        let answer: Message = serde_json::from_value(answer).unwrap();
        play(&events, &answer).map_or_else(|error| format!("{error:#}"), |()| "whole".to_owned())
    }

    #[test]
    fn missing_duplicate_and_misplaced_events_are_detected() {
        let (half, whole) = (end("one "), end("one two "));
        let (half, whole) = (("message_end", half.as_str()), ("message_end", whole.as_str()));
        let snapshot = r#"{"assistant_message_id":2,"epoch":2,"content":"one ","tool_calls":[],"status":"streaming"}"#;
        let again = ("snapshot", snapshot);
        assert_eq!(outcome(&[START, CALL, END_OF_CALL, ONE, TWO, whole]), "whole");
        assert_eq!(outcome(&[START, CALL, END_OF_CALL, ONE, half, again, TWO, whole]), "whole");
        for (events, wrong) in [
            (&[CALL, END_OF_CALL, ONE, TWO, whole][..], "the beginning is missing"),
            (&[START, CALL, END_OF_CALL, TWO, whole], "a delta has the offset 4, but the text ends at 0"),
            (&[START, CALL, END_OF_CALL, ONE, ONE, whole], "a delta has the offset 0, but the text ends at 4"),
            (&[START, CALL, CALL, END_OF_CALL, ONE, TWO, whole], "the call starts twice"),
            (&[START, CALL, END_OF_CALL, END_OF_CALL, ONE, TWO, whole], "the call ends twice"),
            (&[START, END_OF_CALL, ONE, TWO, whole], "the call never started"),
            (&[START, ONE, TWO, whole], "the events have the calls {}"),
            (&[START, CALL, END_OF_CALL, ONE, TWO], "the end is missing"),
            (&[START, CALL, END_OF_CALL, ONE, half], "the events have different text than the answer"),
            (&[START, CALL, END_OF_CALL, ONE, whole], "the end has different text than the events before it"),
            (&[START, CALL, END_OF_CALL, ONE, TWO, whole, whole], "the event comes after the end"),
            (&[START, CALL, END_OF_CALL, ONE, again, TWO, whole], "a run starts before the previous run has ended"),
        ] {
            let outcome = outcome(events);
            assert!(outcome.contains(wrong), "{outcome}");
        }
    }
}
