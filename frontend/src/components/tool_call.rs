//! A tool call as one quiet line: how it stands, which tool, with what, how long. The line is a button that opens the
//! details.

use leptos::prelude::*;
use tallybook_protocol::ToolCallStatus;

use crate::{
    components::{
        icon::{Draw, Icon},
        tool_call_details::ToolCallDetails,
    },
    format, json, text,
    transcript::Call,
};

/// One tool call, closed until the reader opens it.
#[component]
pub(crate) fn ToolCall(call: Memo<Option<Call>>) -> impl IntoView {
    let open = RwSignal::new(false);
    let (id, name, summary) = call.with_untracked(|call| {
        call.as_ref().map(|call| (call.id, call.name.clone(), json::summary(call.input.as_str()))).unwrap_or_default()
    });
    let details_id = format!("call-{id}");
    let controls = details_id.clone();
    let status =
        Memo::new(move |_| call.with(|call| call.as_ref().map_or(ToolCallStatus::Unknown, |call| call.status)));
    let duration = move || call.with(|call| call.as_ref()?.duration_ms.map(format::duration));
    view! {
        <div class="tool">
            <button
                type="button"
                class="tool-line"
                data-testid="tool-call"
                data-status=move || status_name(status.get())
                aria-expanded=move || open.get().to_string()
                aria-controls=controls
                on:click=move |_| open.update(|open| *open = !*open)
            >
                <span class="tool-status">
                    {move || status_icon(status.get())}
                    <span class="visually-hidden" role="status">{move || text::call_status(status.get())}</span>
                </span>
                <span class="tool-name">{name}</span>
                <span class="tool-summary">{summary}</span>
                <span class="tool-duration">{duration}</span>
                <span class="tool-chevron"><Draw icon=Icon::Chevron /></span>
            </button>
            {move || open.get().then(|| {
                let id = details_id.clone();
                view! { <ToolCallDetails id call /> }
            })}
        </div>
    }
    .into_any()
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
