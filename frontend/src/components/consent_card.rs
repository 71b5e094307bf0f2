//! A call that waits for a person's decision: who asks for what, why that is risky, what can be done about it. It stands
//! below the call's line and in no fold. Keys take its numbered choices while nobody writes.

use std::sync::Arc;

use leptos::{ev::SubmitEvent, html, prelude::*};
use tallybook_protocol::{ApprovalScope, CallDecision, Decision, MessageStatus, RawJson, ToolCallId, ToolCallReview};

use crate::{
    browser,
    components::{
        call_text::{CallPart, Part},
        commands::on_command,
        shown::{OptionalEntry, read},
    },
    consent::{Flaw, edited_input},
    json,
    keys::Command,
    language::{Language, use_language},
    session::{Phase, Session},
    transcript::{Call, Entry},
};

/// The card's element.
pub(crate) fn card_id(id: ToolCallId) -> String {
    format!("consent-{id}")
}

/// What is to be told of a call.
pub(crate) fn plain_decision(id: ToolCallId, decision: Decision) -> CallDecision {
    CallDecision { tool_call_id: id, decision, reason: None, input: None, remember: None }
}

/// The calls of an answer that wait, in their order; none of one whose turn does not wait for them.
pub(crate) fn waiting_calls(entry: &Entry) -> Vec<ToolCallId> {
    entry.calls().filter(|call| call.awaits_decision()).map(|call| call.id).collect()
}

/// Whether an answer's calls that wait are asked for; in one that is over, nobody asks any more.
pub(crate) fn asks(entry: &Entry) -> bool {
    matches!(entry.status, MessageStatus::AwaitingApproval | MessageStatus::Streaming)
}

/// What the parts of one card share.
#[derive(Clone, Copy)]
struct Card {
    id: ToolCallId,
    call: Memo<Option<Arc<Call>>>,
    session: Session,
    /// Whether a decision would be taken now.
    is_ready: Memo<bool>,
    /// Whether other calls of its step still run.
    is_early: Memo<bool>,
    /// Whether the keys are this card's: it is the first that waits.
    is_first: Memo<bool>,
    /// What is written in place of the arguments.
    edited: RwSignal<Option<String>>,
    scope: RwSignal<ApprovalScope>,
    /// Whether it is asked why not.
    is_denying: RwSignal<bool>,
    text: Language,
}

/// The card of a call, as long as that waits.
#[component]
pub(crate) fn ConsentCard(
    id: ToolCallId,
    call: Memo<Option<Arc<Call>>>,
    entry: OptionalEntry,
    session: Session,
) -> impl IntoView {
    let waits = Memo::new(move |_| {
        read(entry, asks) && call.with(|call| call.as_ref().is_some_and(|call| call.awaits_decision()))
    });
    move || {
        waits.get().then(|| {
            let card = Card {
                id,
                call,
                session,
                is_ready: Memo::new(move |_| session.phase.get() == Phase::Awaiting && !session.stopping.get()),
                is_early: Memo::new(move |_| read(entry, Entry::is_streaming)),
                is_first: Memo::new(move |_| read(entry, |entry| waiting_calls(entry).first() == Some(&id))),
                edited: RwSignal::new(None),
                scope: RwSignal::new(ApprovalScope::Conversation),
                is_denying: RwSignal::new(false),
                text: use_language(),
            };
            card.view()
        })
    }
}

impl Card {
    fn view(self) -> AnyView {
        let Self { id, call, session, is_early, text, .. } = self;
        // Effects run in a browser alone.
        Effect::new(move || session.tools.load_once());
        on_command(move |command| match command {
            Command::Choose(number) => self.choose(number),
            _ => false,
        });
        let name = call.with_untracked(|call| call.as_ref().map(|call| call.name.clone())).unwrap_or_default();
        let title = text.may_it_run(&name);
        let risk = move || match session.tools.server_of(&name) {
            Some(server) => text.risk_of_server(&server),
            None => text.risk_of_tool().to_owned(),
        };
        let title_id = format!("{}-title", card_id(id));
        let labelled_by = title_id.clone();
        let input_id = format!("{}-input", card_id(id));
        view! {
            <div
                class="consent"
                role="group"
                id=card_id(id)
                data-testid="consent"
                // Takes the focus when one comes here from the message field.
                tabindex="-1"
                aria-labelledby=labelled_by
            >
                <h3 id=title_id>{title}</h3>
                <p class="consent-risk">{risk}</p>
                {move || if self.edited.with(Option::is_some) {
                    self.editor()
                } else {
                    let id = input_id.clone();
                    view! { <div class="consent-input"><CallPart part=Part::Input id call session=Some(session) /></div> }
                        .into_any()
                }}
                {move || call.with(|call| call.as_ref().and_then(|call| reviews_view(&call.reviews, text)))}
                {self.choices()}
                {move || self.is_denying.get().then(|| self.denial())}
                {move || is_early.get().then(|| view! { <p class="tool-note">{text.decide_soon()}</p> })}
            </div>
        }
        .into_any()
    }

    /// Takes one of the numbered choices, if the keys are this card's.
    fn choose(self, number: u8) -> bool {
        if !self.is_first.get_untracked() || !self.is_ready.get_untracked() {
            return false;
        }
        match number {
            1 => self.allow(None),
            2 => self.allow(Some(self.scope.get_untracked())),
            _ => self.is_denying.set(true),
        }
        true
    }

    /// Lets it run, unless what was written in place of its arguments makes no sense.
    fn allow(self, remember: Option<ApprovalScope>) {
        let Ok(input) = self.changed_input() else { return };
        let decision = plain_decision(self.id, Decision::Approve);
        self.session.decide(vec![CallDecision { input, remember, ..decision }]);
    }

    fn deny(self, reason: &str) {
        let reason = Some(reason.trim().to_owned()).filter(|reason| !reason.is_empty());
        self.session.decide(vec![CallDecision { reason, ..plain_decision(self.id, Decision::Deny) }]);
    }

    /// The arguments as they are shown to be edited.
    fn proposed(self) -> String {
        self.call.with_untracked(|call| call.as_ref().map(|call| json::readable(&call.input.text))).unwrap_or_default()
    }

    /// What was written in place of the arguments; nothing where that is what was there.
    fn changed_input(self) -> Result<Option<RawJson>, Flaw> {
        match self.edited.get() {
            Some(edited) if edited != self.proposed() => edited_input(&edited).map(Some),
            _ => Ok(None),
        }
    }

    fn choices(self) -> AnyView {
        let Self { is_ready, is_denying, text, .. } = self;
        let has_keys = browser::IS_HERE && browser::has_single_keys();
        let key = move |number: &'static str| {
            move || (has_keys && self.is_first.get()).then(|| view! { <kbd aria-hidden="true">{number}</kbd> })
        };
        let is_whole = move || self.call.with(|call| call.as_ref().is_some_and(|call| call.input.is_whole()));
        let is_flawed = Memo::new(move |_| self.changed_input().is_err());
        let no_allowing = move || !is_ready.get() || is_flawed.get();
        view! {
            <div class="consent-choices">
                <button
                    type="button"
                    class="button primary"
                    data-testid="allow-once"
                    aria-keyshortcuts="1"
                    disabled=no_allowing
                    on:click=move |_| self.allow(None)
                >
                    {key("1")}{text.allow_once()}
                </button>
                <span class="consent-scope">
                    <button
                        type="button"
                        class="button"
                        data-testid="allow-from-now-on"
                        aria-keyshortcuts="2"
                        disabled=no_allowing
                        on:click=move |_| self.allow(Some(self.scope.get_untracked()))
                    >
                        {key("2")}{text.allow_from_now_on()}
                    </button>
                    <select
                        class="field"
                        data-testid="scope"
                        aria-label=text.how_far()
                        on:change:target=move |event| self.scope.set(match event.target().value().as_str() {
                            "always" => ApprovalScope::Always,
                            _ => ApprovalScope::Conversation,
                        })
                    >
                        <option value="conversation">{text.approval_here()}</option>
                        <option value="always">{text.approval_always()}</option>
                    </select>
                </span>
                <button
                    type="button"
                    class="button danger"
                    data-testid="deny"
                    aria-keyshortcuts="3"
                    aria-expanded=move || is_denying.get().to_string()
                    disabled=move || !is_ready.get()
                    on:click=move |_| is_denying.set(true)
                >
                    {key("3")}{text.deny()}
                </button>
                {move || (self.edited.with(Option::is_none) && is_whole()).then(|| view! {
                    <button
                        type="button"
                        class="button quiet"
                        data-testid="change-input"
                        on:click=move |_| self.edited.set(Some(self.proposed()))
                    >
                        {text.change_input()}
                    </button>
                })}
            </div>
        }
        .into_any()
    }

    /// The arguments as JSON, to be changed.
    fn editor(self) -> AnyView {
        let Self { edited, text, .. } = self;
        let field_id = format!("{}-editor", card_id(self.id));
        focus_soon(field_id.clone());
        let flaw_id = format!("{}-flaw", card_id(self.id));
        let described_by = flaw_id.clone();
        let flaw = Memo::new(move |_| self.changed_input().err());
        let words = move || {
            flaw.get().map(|flaw| match flaw {
                Flaw::NoJson { line, column } => text.no_json(line, column),
                Flaw::NoObject => text.input_is_no_object().to_owned(),
            })
        };
        let initial = edited.get_untracked().unwrap_or_default();
        let rows = initial.lines().count().clamp(3, 16).to_string();
        view! {
            <div class="consent-editor">
                <textarea
                    class="field"
                    id=field_id
                    data-testid="input-field"
                    rows=rows
                    spellcheck="false"
                    autocomplete="off"
                    aria-label=text.input_as_json()
                    aria-invalid=move || flaw.with(Option::is_some).to_string()
                    aria-describedby=described_by
                    prop:value=initial
                    on:input:target=move |event| edited.set(Some(event.target().value()))
                    on:keydown=move |event| if event.key() == "Escape" && !event.is_composing() {
                        event.stop_propagation();
                        self.leave_editor();
                    }
                ></textarea>
                <div class="consent-editor-foot">
                    <span class="consent-flaw" id=flaw_id role="status">{words}</span>
                    <button type="button" class="button small" data-testid="leave-input" on:click=move |_| self.leave_editor()>
                        {text.leave_input()}
                    </button>
                </div>
            </div>
        }
        .into_any()
    }

    fn leave_editor(self) {
        self.edited.set(None);
        self.take_focus();
    }

    /// Asks why not. Enter denies, with a reason or without; Esc goes back.
    fn denial(self) -> AnyView {
        let Self { is_denying, text, .. } = self;
        let field = NodeRef::<html::Input>::new();
        let field_id = format!("{}-reason", card_id(self.id));
        focus_soon(field_id.clone());
        let deny = move |event: SubmitEvent| {
            event.prevent_default();
            self.deny(&field.get_untracked().map(|field| field.value()).unwrap_or_default());
        };
        view! {
            <form class="consent-denial" on:submit=deny>
                <input
                    type="text"
                    class="field"
                    id=field_id
                    data-testid="deny-reason"
                    autocomplete="off"
                    dir="auto"
                    maxlength="1000"
                    aria-label=text.deny_reason()
                    placeholder=text.deny_reason()
                    node_ref=field
                    on:keydown=move |event| if event.key() == "Escape" && !event.is_composing() {
                        event.stop_propagation();
                        is_denying.set(false);
                        self.take_focus();
                    }
                />
                <button
                    type="submit"
                    class="button danger"
                    data-testid="deny-now"
                    disabled=move || !self.is_ready.get()
                >
                    {text.deny()}
                </button>
            </form>
        }
        .into_any()
    }

    /// What had the focus is gone; the next key should still mean this card.
    fn take_focus(self) {
        focus_soon(card_id(self.id));
    }
}

/// Gives the focus to an element that is there by the next frame.
fn focus_soon(id: String) {
    request_animation_frame(move || {
        browser::focus(&id);
    });
}

/// What reviewing models say of a call; nothing where none does.
pub(crate) fn reviews_view(reviews: &[ToolCallReview], text: Language) -> Option<AnyView> {
    let rows = reviews.iter().map(|review| {
        view! {
            <li class="review" data-verdict=review.verdict.as_str()>
                <b>{review.model.clone()}</b>
                <span class="review-verdict">{text.verdict(review.verdict)}</span>
                <span dir="auto">{review.reason.clone()}</span>
            </li>
        }
    });
    let rows = rows.collect_view();
    (!rows.is_empty())
        .then(|| view! { <ul class="reviews" data-testid="reviews" aria-label=text.reviews()>{rows}</ul> }.into_any())
}
