//! The line of a tool call: status, tool name and duration. The line is a button that opens the details. The style shows a
//! preview of input and output if the user asked for it (`CALL_PREVIEWS_COOKIE`), or under the pointer and the focus.

use std::sync::Arc;

use leptos::prelude::*;
use tallybook_protocol::{MessageStatus, ToolCallId, ToolCallStatus};

use crate::{
    browser,
    components::{
        call_progress::CallProgress,
        composer::leave_button,
        consent_card::ConsentCard,
        icon::{Draw, Icon},
        items::{Items, Lines, element_id},
        seconds::use_seconds,
        shown::read,
        times::times,
        tool_call_details::ToolCallDetails,
        tool_group::{Folding, folding_of},
    },
    format,
    language::{Language, use_language},
    reactive::memo,
    transcript::{Call, Entry, ItemKey},
};

/// After so many seconds a call is taking long.
const LONG_SECS: u64 = 10;
/// After so many seconds it may be time to stop it.
const VERY_LONG_SECS: u64 = 30;

/// One tool call.
#[component]
pub(crate) fn ToolCall(
    /// Its row id.
    id: ToolCallId,
    lines: Lines,
    items: Items,
) -> impl IntoView {
    let text = use_language();
    let key = ItemKey::Call(id);
    let call = memo(move |_| read(items.shown.entry, |entry| entry.call(id).cloned()));
    let session = items.shown.session;
    // What it asks for stands in its card; where there is none, in its details.
    let has_card = move || session.is_some() && read(items.shown.entry, Entry::asks_for_decisions);
    let awaits_others =
        move || call.with(|call| call.as_ref().is_some_and(|call| call.awaits_decision())) && !has_card();
    let open = memo(move |_| items.is_open(key, awaits_others()));
    let details_id = format!("{}-details", element_id(key));
    // A call that is over stays as it is; a thousand of them should cost little.
    let is_over = call.with_untracked(|call| call.as_ref().is_some_and(|call| call.is_over()));
    let line = Line { key, items, open, details_id: details_id.clone(), text };
    let folding = memo(move |_| lines.with(|lines| folding_of(lines, key, items)));
    // Most groups are never opened. Without a script, nobody could open one.
    let is_drawn = memo(move |was| !browser::IS_HERE || was == Some(&true) || folding.get() != Folding::Folded);
    let line = if is_over {
        let line = move || call.with_untracked(|call| call.as_ref().map(|call| line.view(call, 0)));
        (move || is_drawn.get().then(&line)).into_any()
    } else {
        view! { <LiveLine line call /> }.into_any()
    };
    view! {
        <div
            class="tool"
            id=element_id(key)
            data-grouped=move || (folding.get() != Folding::Alone).then_some("")
            hidden=move || folding.get() == Folding::Folded
        >
            {line}
            {session.filter(|_| !is_over).map(|session| view! {
                <ConsentCard id call entry=items.shown.entry session />
            })}
            {move || open.get().then(|| {
                let id = details_id.clone();
                view! { <ToolCallDetails id call session /> }
            })}
        </div>
    }
    .into_any()
}

/// What the line of a call is drawn with.
#[derive(Clone)]
struct Line {
    key: ItemKey,
    items: Items,
    open: Memo<bool>,
    /// The element that it opens.
    details_id: String,
    text: Language,
}

impl Line {
    /// The line as the call stands, `waited` seconds after it was first seen here to run.
    fn view(&self, call: &Call, waited: u64) -> impl IntoView + use<> {
        let Self { key, items, open, details_id, text } = self.clone();
        let measured = call.duration_ms.map(|ms| format::duration(text, ms));
        let outcome = call.outcome().map(|words| {
            view! {
                <span class="tool-arrow" aria-hidden="true">" → "</span>
                <span class="tool-result">{words}</span>
            }
        });
        // Allowed, it begins when the others of its step are decided.
        let is_next = call.status == ToolCallStatus::Pending && is_paused(items);
        let (icon, state) = if is_next {
            (view! { <Draw icon=Icon::Hand /> }.into_any(), text.call_allowed())
        } else {
            (status_icon(call.status), text.call_status(call.status))
        };
        let duration = measured.or_else(|| (waited > 0).then(|| text.waited(waited)));
        view! {
            <button
                type="button"
                class="tool-line"
                data-testid="tool-call"
                data-status=call.status.as_str()
                data-pace=Pace::after(waited).name()
                title=times(text, call.span())
                aria-expanded=move || open.get().to_string()
                aria-controls=details_id
                on:click=move |_| items.set(key, !open.get_untracked())
            >
                // Spaces, which are not drawn, keep the words apart where they are read aloud.
                <span class="tool-status">{icon}</span>
                <span class="tool-name">{call.shown_name().into_owned()}</span>
                " "
                <span class="tool-preview">
                    <span class="tool-summary">{call.summary()}</span>
                    {outcome}
                </span>
                <span class="tool-space">" "</span>
                <span class="tool-state">{state}</span>
                " "
                <span class="tool-duration">{duration}</span>
                <span class="tool-chevron"><Draw icon=Icon::Chevron /></span>
            </button>
        }
    }
}

/// The line of a call that is not over yet, and what there is to say while it runs.
#[component]
fn LiveLine(line: Line, call: Memo<Option<Arc<Call>>>) -> impl IntoView {
    let text = line.text;
    let session = line.items.shown.session;
    let status = memo(move |_| call.with(|call| call.as_ref().map(|call| call.status)));
    let items = line.items;
    let runs = move || status.get() == Some(ToolCallStatus::Pending) && !is_paused(items);
    let seconds = use_seconds(runs);
    let waited = memo(move |_| if runs() { seconds.get() } else { 0 });
    let pace = memo(move |_| Pace::after(waited.get()));
    let spoken = move || {
        call.with(|call| call.as_ref().map(|call| format!("{}: {}", call.shown_name(), text.call_status(call.status))))
    };
    view! {
        {move || call.with(|call| call.as_ref().map(|call| line.view(call, waited.get())))}
        // Spoken from here, since a button's inside is not heard when it changes.
        <span class="visually-hidden" role="status">{spoken}</span>
        <CallProgress progress=memo(move |_| call.with(|call| call.as_ref()?.progress.clone())) />
        {move || match pace.get() {
            Pace::Usual => None,
            Pace::Long => Some(view! { <p class="tool-wait" role="status">{text.takes_long()}</p> }.into_any()),
            Pace::VeryLong => Some(view! {
                <p class="tool-wait very-long">
                    <span role="status">{text.takes_very_long()}</span>
                    {session.map(|session| view! {
                        <button
                            type="button"
                            class="button small"
                            data-testid="stop-call"
                            disabled=move || session.stopping.get()
                            on:click=move |_| {
                                session.stop();
                                leave_button();
                            }
                        >
                            {move || if session.stopping.get() { text.stopping() } else { text.stop() }}
                        </button>
                    })}
                </p>
            }.into_any()),
        }}
    }
}

/// Whether the turn waits for decisions, so that nothing runs.
fn is_paused(items: Items) -> bool {
    read(items.shown.entry, |entry| entry.status == MessageStatus::AwaitingApproval)
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
    match outcome_icon(status) {
        Some(icon) => view! { <Draw icon /> }.into_any(),
        None => view! { <span class="spinner" aria-hidden="true"></span> }.into_any(),
    }
}

/// The mark of how a call stands; none while it runs.
pub(crate) fn outcome_icon(status: ToolCallStatus) -> Option<Icon> {
    Some(match status {
        ToolCallStatus::Pending => return None,
        ToolCallStatus::AwaitingApproval => Icon::Hand,
        ToolCallStatus::Success => Icon::Check,
        ToolCallStatus::Error => Icon::Cross,
        ToolCallStatus::Denied | ToolCallStatus::Cancelled | ToolCallStatus::Unknown => Icon::Bar,
        ToolCallStatus::Interrupted => Icon::Broken,
    })
}
