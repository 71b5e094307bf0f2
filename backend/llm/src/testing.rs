//! Helpers for tests and fuzzing: read complete streams, and extract parts of the events.

#[cfg(test)]
use super::event::StopReason;
use super::{
    event::ModelEvent,
    reader::{BodyEnd, Parser, Portion, StreamReader},
};

/// Reads a body in these portions. Returns all events, and the message of the error if there is one.
pub(crate) fn read<R: StreamReader>(reader: R, portions: &[&[u8]]) -> (Vec<ModelEvent>, Option<String>) {
    let mut parser = Parser::new(reader);
    let mut all = Vec::new();
    for portion in portions {
        let Portion { events, error, is_over } = parser.push(portion);
        all.extend(events);
        if is_over || error.is_some() {
            return (all, error.map(|error| error.to_string()));
        }
    }
    let Portion { events, error, is_over } = parser.end(BodyEnd::Clean);
    all.extend(events);
    let unfinished = (!is_over).then(|| "unfinished".to_owned());
    (all, error.map(|error| error.to_string()).or(unfinished))
}

/// Splits the body at these positions.
#[cfg(test)]
pub(crate) fn cut<'a>(body: &'a [u8], places: &[proptest::sample::Index]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = places.iter().map(|place| place.index(body.len() + 1)).collect();
    places.sort_unstable();
    places.push(body.len());
    let mut start = 0;
    places.into_iter().map(|end| &body[std::mem::replace(&mut start, end)..end]).collect()
}

/// Joins the texts, because the boundaries of the deltas have no meaning.
#[cfg(test)]
pub(crate) fn texts(events: &[ModelEvent]) -> String {
    events
        .iter()
        .filter_map(|event| match event {
            ModelEvent::TextDelta(text) => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

/// Asserts that two portions, split at any position, and single bytes give the same events as the complete body.
#[cfg(test)]
pub(crate) fn assert_split_anywhere<R: StreamReader>(reader: impl Fn() -> R, body: &str) {
    let whole = read(reader(), &[body.as_bytes()]);
    for at in 0..body.len() {
        let (left, right) = body.as_bytes().split_at(at);
        assert_eq!(read(reader(), &[left, right]), whole, "split at {at}");
    }
    let single: Vec<&[u8]> = body.as_bytes().chunks(1).collect();
    assert_eq!(read(reader(), &single), whole);
}

/// Returns the ID and the arguments of each call.
#[cfg(test)]
pub(crate) fn calls(events: &[ModelEvent]) -> Vec<(&str, &str)> {
    events
        .iter()
        .filter_map(|event| match event {
            ModelEvent::ToolCall(call) => Some((call.id.as_str(), call.input_text.as_str())),
            _ => None,
        })
        .collect()
}

/// Returns the stop reason, or `None` if the answer did not end.
#[cfg(test)]
pub(crate) fn stop_reason(events: &[ModelEvent]) -> Option<&StopReason> {
    match events.last() {
        Some(ModelEvent::Ended { stop_reason, .. }) => Some(stop_reason),
        _ => None,
    }
}

/// Returns the specification of a tool.
#[cfg(test)]
pub(crate) fn add_spec() -> tallybook_tools::ToolSpec {
    tallybook_tools::ToolSpec {
        name: "add".to_owned(),
        description: "Adds.".to_owned(),
        aliases: Vec::new(),
        input_schema: serde_json::json!({"type": "object"}),
        server: None,
        risk: tallybook_tools::Risk::Low,
        idempotent: true,
        definition_hash: None,
    }
}
