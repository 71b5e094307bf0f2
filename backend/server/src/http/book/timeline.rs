//! A turn's time as bars: each model call and each tool call from when it began to when it ended, as a share of the whole.

use chrono::{DateTime, TimeDelta, Utc};
use tallybook_frontend::invisible::escaped;
use tallybook_protocol::ToolCallId;

use super::words::Words;
use crate::book::{CallOfTurnRow, ModelCallOfTurnRow, WholeCall};

/// How wide the whole is, in units of the picture.
const WIDTH: i64 = 1000;

/// How wide a bar is at least, so that it can be seen.
const MIN_WIDTH: i64 = 4;

/// Something that took its time.
pub(super) struct Bar {
    /// What it was.
    pub(super) name: String,
    /// Where it is to be read.
    pub(super) address: Option<String>,
    /// Whether it is the call that the page is about.
    pub(super) is_this: bool,
    /// For its colour: `model`, or the status of a tool call.
    pub(super) kind: &'static str,
    /// When it began and how long it took, in words.
    pub(super) words: String,
    /// What else there is to say of it.
    pub(super) note: Option<String>,
    pub(super) x: i64,
    pub(super) width: i64,
}

/// What has a beginning and an end.
struct Span {
    began: DateTime<Utc>,
    ended: DateTime<Utc>,
    bar: Bar,
}

/// The bars of a call's turn, in the order in which they began.
pub(super) fn bars(call: &WholeCall, words: Words) -> Vec<Bar> {
    let models = call.model_calls.iter().map(|row| of_model(row, words));
    let tools = call.tool_calls.iter().map(|row| of_tool(row, call.row.id, words));
    let mut spans: Vec<Span> = models.chain(tools).collect();
    spans.sort_by_key(|span| span.began);
    let (Some(began), Some(ended)) =
        (spans.iter().map(|span| span.began).min(), spans.iter().map(|span| span.ended).max())
    else {
        return Vec::new();
    };
    let whole = (ended - began).num_milliseconds().max(1);
    let place = |at: DateTime<Utc>| (at - began).num_milliseconds() * WIDTH / whole;
    let bar = |span: Span| {
        let x = place(span.began).min(WIDTH - MIN_WIDTH);
        let width = (place(span.ended) - x).max(MIN_WIDTH);
        let after = (span.began - began).num_milliseconds();
        let took = (span.ended - span.began).num_milliseconds();
        Bar { x, width, words: words.began_and_took(&words.how_long(after), &words.how_long(took)), ..span.bar }
    };
    spans.into_iter().map(bar).collect()
}

fn of_model(row: &ModelCallOfTurnRow, words: Words) -> Span {
    Span {
        began: row.created_at - TimeDelta::milliseconds(row.duration_ms),
        ended: row.created_at,
        bar: Bar {
            name: format!("{} {}", row.provider, row.model),
            address: None,
            is_this: false,
            kind: "model",
            words: String::new(),
            note: Some(format!("{} · {}", words.purpose(&row.purpose), words.model_call(row))),
            x: 0,
            width: 0,
        },
    }
}

fn of_tool(row: &CallOfTurnRow, this: ToolCallId, words: Words) -> Span {
    Span {
        began: row.started_at,
        ended: row.started_at + TimeDelta::milliseconds(row.duration_ms.unwrap_or(0)),
        bar: Bar {
            name: escaped(&row.tool_name).into_owned(),
            address: (row.id != this).then(|| format!("/admin/calls/{}", row.id)),
            is_this: row.id == this,
            kind: row.status.as_str(),
            words: String::new(),
            note: Some(words.status(row.status).to_owned()),
            x: 0,
            width: 0,
        },
    }
}
