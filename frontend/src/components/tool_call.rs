//! A tool call as one quiet line: how it stands, which tool, with what, how long. The line is a button that opens the
//! details.

use leptos::prelude::*;
use tallybook_protocol::ToolCallStatus;

use crate::{
    components::{
        icon::{Draw, Icon},
        message::read,
        seconds::use_seconds,
        tool_call_details::ToolCallDetails,
        tool_calls::{Calls, Lines},
        tool_group::is_folded,
    },
    format, json,
    language::use_language,
    transcript::Line,
};

/// After so many seconds a call is taking long.
const LONG_SECS: u64 = 10;
/// After so many seconds it may be time to stop it.
const VERY_LONG_SECS: u64 = 30;

/// The element of a call, by its row id.
pub(crate) fn id_of_call(id: i64) -> String {
    format!("call-{id}")
}

/// One tool call.
#[component]
pub(crate) fn ToolCall(
    /// Its row id.
    id: i64,
    lines: Lines,
    calls: Calls,
) -> impl IntoView {
    let text = use_language();
    let call = Memo::new(move |_| read(calls.entry, |entry| entry.calls.iter().find(|call| call.id == id).cloned()));
    let status =
        Memo::new(move |_| call.with(|call| call.as_ref().map_or(ToolCallStatus::Unknown, |call| call.status)));
    let (name, summary) = call.with_untracked(|call| {
        call.as_ref().map(|call| (call.name.clone(), json::summary(call.input.as_str()))).unwrap_or_default()
    });
    let open = Memo::new(move |_| calls.is_call_open(id, status.get() == ToolCallStatus::AwaitingApproval));
    let folded = Memo::new(move |_| lines.with(|lines| is_folded(lines, id, calls)));
    // A finished call costs nothing to wait for.
    let is_over = call.with_untracked(|call| call.as_ref().is_some_and(|call| call.is_over()));
    let waiting = (!is_over).then(|| use_seconds(move || status.get() == ToolCallStatus::Pending));
    let waited = move || waiting.filter(|_| status.get() == ToolCallStatus::Pending).map_or(0, |waiting| waiting.get());
    let duration = move || {
        let measured = call.with(|call| call.as_ref()?.duration_ms.map(|ms| format::duration(text, ms)));
        measured.or_else(|| Some(waited()).filter(|seconds| *seconds > 0).map(|seconds| text.waited(seconds)))
    };
    let pace = Memo::new(move |_| Pace::after(waited()));
    let spoken_name = name.clone();
    let details_id = format!("{}-details", id_of_call(id));
    let controls = details_id.clone();
    view! {
        <div
            class="tool"
            id=id_of_call(id)
            data-grouped=move || lines.with(|lines| is_grouped(lines, id)).then_some("")
            hidden=move || folded.get()
        >
            <button
                type="button"
                class="tool-line"
                data-testid="tool-call"
                data-status=move || status_name(status.get())
                data-pace=move || pace.get().name()
                aria-expanded=move || open.get().to_string()
                aria-controls=controls
                on:click=move |_| calls.set_call(id, !open.get_untracked())
            >
                <span class="tool-status">{move || status_icon(status.get())}</span>
                <span class="tool-name">{name}</span>
                <span class="tool-summary">{summary}</span>
                <span class="tool-state">{move || text.call_status(status.get())}</span>
                <span class="tool-duration">{duration}</span>
                <span class="tool-chevron"><Draw icon=Icon::Chevron /></span>
            </button>
            // Spoken from here, since a button's inside is not heard when it changes.
            {(!is_over).then(|| view! {
                <span class="visually-hidden" role="status">
                    {move || format!("{spoken_name}: {}", text.call_status(status.get()))}
                </span>
            })}
            {move || match pace.get() {
                Pace::Usual => None,
                Pace::Long => Some(view! { <p class="tool-wait" role="status">{text.takes_long()}</p> }.into_any()),
                Pace::VeryLong => Some(view! {
                    <p class="tool-wait very-long">
                        <span role="status">{text.takes_very_long()}</span>
                        <button
                            type="button"
                            class="small-button"
                            data-testid="stop-call"
                            disabled=move || calls.session.stopping.get()
                            on:click=move |_| calls.session.stop()
                        >
                            {move || if calls.session.stopping.get() { text.stopping() } else { text.stop() }}
                        </button>
                    </p>
                }.into_any()),
            }}
            {move || open.get().then(|| {
                let id = details_id.clone();
                view! { <ToolCallDetails id call /> }
            })}
        </div>
    }
    .into_any()
}

fn is_grouped(lines: &[Line], id: i64) -> bool {
    lines.iter().any(|line| matches!(line, Line::Call { id: other, group: Some(_) } if *other == id))
}

/// How a running call keeps its reader waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    Usual,
    Long,
    VeryLong,
}

impl Pace {
    fn after(seconds: u64) -> Self {
        match seconds {
            ..LONG_SECS => Self::Usual,
            LONG_SECS..VERY_LONG_SECS => Self::Long,
            VERY_LONG_SECS.. => Self::VeryLong,
        }
    }

    fn name(self) -> Option<&'static str> {
        match self {
            Self::Usual => None,
            Self::Long => Some("long"),
            Self::VeryLong => Some("very-long"),
        }
    }
}

fn status_icon(status: ToolCallStatus) -> AnyView {
    let icon = match status {
        ToolCallStatus::Pending => return view! { <span class="spinner" aria-hidden="true"></span> }.into_any(),
        ToolCallStatus::AwaitingApproval => Icon::Hand,
        ToolCallStatus::Success => Icon::Check,
        ToolCallStatus::Error => Icon::Cross,
        ToolCallStatus::Denied | ToolCallStatus::Cancelled | ToolCallStatus::Unknown => Icon::Bar,
        ToolCallStatus::Interrupted => Icon::Broken,
    };
    view! { <Draw icon /> }.into_any()
}

fn status_name(status: ToolCallStatus) -> &'static str {
    match status {
        ToolCallStatus::Pending => "pending",
        ToolCallStatus::AwaitingApproval => "awaiting_approval",
        ToolCallStatus::Success => "success",
        ToolCallStatus::Error => "error",
        ToolCallStatus::Denied => "denied",
        ToolCallStatus::Cancelled => "cancelled",
        ToolCallStatus::Interrupted => "interrupted",
        ToolCallStatus::Unknown => "unknown",
    }
}
