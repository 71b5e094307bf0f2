//! Timeline of a turn: one bar per model call and tool call, from its start to its end, relative to the length of the
//! timeline.

use chrono::{DateTime, TimeDelta, Utc};
use tallybook_frontend::invisible::escaped;
use tallybook_protocol::ToolCallId;
use tallybook_tool_history::{CallDetails, CallOfTurnRow, ModelCallOfTurnRow};

use super::i18n::Messages;

/// Width of the timeline, in units of the picture.
const WIDTH: i64 = 1000;

/// Minimum width of a bar, so that it is visible.
const MIN_WIDTH: i64 = 4;

/// A bar in the timeline.
pub(crate) struct Bar {
    /// Name of the tool, or of the provider and the model.
    pub(crate) name: String,
    /// URL of the tool call's page; `None` for a model call, and for the call that the page shows.
    pub(crate) address: Option<String>,
    /// `true` for the call that the page shows.
    pub(crate) is_this: bool,
    /// Selects the color: `model`, or the status of a tool call.
    pub(crate) kind: &'static str,
    /// Start and duration, in words.
    pub(crate) text: String,
    /// Purpose and usage of a model call, or status of a tool call.
    pub(crate) note: Option<String>,
    pub(crate) x: i64,
    pub(crate) width: i64,
}

/// A bar, with its start and end.
struct Span {
    began: DateTime<Utc>,
    ended: DateTime<Utc>,
    bar: Bar,
}

/// Returns the bars of a call's turn, ordered by start.
pub(crate) fn bars(call: &CallDetails, texts: Messages) -> Vec<Bar> {
    let models = call.model_calls.iter().map(|row| of_model(row, texts));
    let tools = call.tool_calls.iter().map(|row| of_tool(row, call.row.id, texts));
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
        Bar {
            x,
            width,
            text: texts.began_and_took(&texts.duration_text(after), &texts.duration_text(took)),
            ..span.bar
        }
    };
    spans.into_iter().map(bar).collect()
}

fn of_model(row: &ModelCallOfTurnRow, texts: Messages) -> Span {
    Span {
        began: row.created_at - TimeDelta::milliseconds(row.duration_ms),
        ended: row.created_at,
        bar: Bar {
            name: format!("{} {}", row.provider, row.model),
            address: None,
            is_this: false,
            kind: "model",
            text: String::new(),
            note: Some(format!("{} · {}", texts.purpose(&row.purpose), texts.model_call(row))),
            x: 0,
            width: 0,
        },
    }
}

fn of_tool(row: &CallOfTurnRow, this: ToolCallId, texts: Messages) -> Span {
    Span {
        began: row.started_at,
        ended: row.started_at + TimeDelta::milliseconds(row.duration_ms.unwrap_or(0)),
        bar: Bar {
            name: escaped(&row.tool_name).into_owned(),
            address: (row.id != this).then(|| format!("/admin/calls/{}", row.id)),
            is_this: row.id == this,
            kind: row.status.as_str(),
            text: String::new(),
            note: Some(texts.status(row.status).to_owned()),
            x: 0,
            width: 0,
        },
    }
}
