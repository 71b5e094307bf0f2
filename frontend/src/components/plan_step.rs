//! One step of a plan: what is to be done and how it stands with that, and inside it what it wrote and called, folded when
//! it is done. A call that asks for a decision stands in no fold, so its step stays open.

use leptos::prelude::*;
use tallybook_protocol::{PlanStep as StoredStep, PlanStepId};

use crate::{
    components::{
        each::Each,
        ending::is_silent,
        icon::{Draw, Icon},
        items::Items,
        pieces::{Key, piece_view},
        seconds::use_seconds,
        shown::read,
        thinking::Thinking,
    },
    language::{Language, use_language},
    reactive::memo,
    transcript::{Entry, ItemKey, Segment, StepState},
    waiting::Waiting,
};

/// What the line of a step says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) instruction: String,
    pub(crate) expected: String,
    pub(crate) state: StepState,
    pub(crate) attempt: i32,
    /// Why it failed, or is tried again.
    pub(crate) reason: Option<String>,
    /// What was found of it, where that is good.
    pub(crate) judgement: Option<String>,
}

impl Line {
    pub(crate) fn of(entry: &Entry, step: &StoredStep, text: Language) -> Self {
        let state = StepState::of(step, entry.status);
        let told = step.reason.clone().filter(|reason| !reason.trim().is_empty());
        let (reason, judgement) = match (state, told) {
            (StepState::Done, told) => (None, told),
            (StepState::Failed, told) => (told, None),
            (_, Some(told)) if step.attempt > 1 => (Some(text.retry_reason(&told)), None),
            (_, told) => (told, None),
        };
        let (instruction, expected) = (step.instruction.clone(), step.expected.clone());
        Self { instruction, expected, state, attempt: step.attempt, reason, judgement }
    }

    /// How it stands with it, in words.
    pub(crate) fn words(&self, text: Language) -> String {
        let state = text.step_state(self.state);
        if self.attempt > 1 { format!("{state} · {}", text.attempt(self.attempt)) } else { state.to_owned() }
    }
}

/// One step.
#[component]
pub(crate) fn PlanStep(
    id: PlanStepId,
    /// What it is numbered, from 1.
    number: usize,
    items: Items,
) -> impl IntoView {
    let text = use_language();
    let entry = items.shown.entry;
    let line = memo(move |_| {
        read(entry, |entry| {
            let step = entry.plan.as_ref()?.steps.iter().find(|step| step.step_id == id)?;
            Some(Line::of(entry, step, text))
        })
    });
    let state = memo(move |_| line.with(|line| line.as_ref().map_or(StepState::Skipped, |line| line.state)));
    let pieces = memo(move |_| read(entry, |entry| entry.segments_of(id)));
    let asks = memo(move |_| read(entry, |entry| has_waiting_call(entry, &entry.segments_of(id))));
    let open = memo(move |_| {
        let by_default = matches!(state.get(), StepState::Working | StepState::Awaiting | StepState::Stopped);
        asks.get() || items.is_step_open(id, &pieces.with(|pieces| keys_of(pieces)), by_default)
    });
    let silent = memo(move |_| {
        state.get() == StepState::Working && read(entry, |entry| is_silent(entry, &entry.segments_of(id)))
    });
    let waiting = memo(move |_| read(entry, |entry| Waiting::of(entry.activity.as_ref())));
    let seconds = use_seconds(move || state.get() == StepState::Working);
    let waited = move || (state.get() == StepState::Working && seconds.get() > 0).then(|| text.waited(seconds.get()));
    let say = move |pick: fn(&Line) -> String| move || line.with(|line| line.as_ref().map(pick));
    let part = move |label: &'static str, pick: fn(&Line) -> Option<String>| {
        move || {
            line.with(|line| line.as_ref().and_then(pick)).map(|words| {
                view! { <p class="plan-told"><span class="plan-label">{label}</span>" "<span dir="auto">{words}</span></p> }
            })
        }
    };
    let body_id = format!("plan-step-{id}");
    let controls = body_id.clone();
    view! {
        <li class="plan-step" data-testid="plan-step" data-state=move || state.get().name()>
            <button
                type="button"
                class="plan-line"
                data-testid="plan-line"
                aria-expanded=move || open.get().to_string()
                aria-controls=controls
                on:click=move |_| items.set_step(id, !open.get_untracked())
            >
                <span class="plan-mark">{move || mark(state.get(), number)}</span>
                <span class="plan-words">
                    <span class="plan-instruction" dir="auto">{say(|line| line.instruction.clone())}</span>
                    " "
                    <span class="plan-state">
                        {move || line.with(|line| line.as_ref().map(|line| line.words(text)))}
                        " "
                        <span class="plan-seconds">{waited}</span>
                    </span>
                </span>
                <span class="tool-chevron"><Draw icon=Icon::Chevron /></span>
            </button>
            {move || line.with(|line| line.as_ref()?.reason.clone()).map(|reason| view! {
                <p class="plan-reason" data-testid="plan-reason" dir="auto">{reason}</p>
            })}
            // All of it stays in the page while it folds, so that what a reader did in it is not lost.
            <div class="plan-body" id=body_id hidden=move || !open.get()>
                {part(text.plan_expected(), |line| Some(line.expected.clone()).filter(|words| !words.is_empty()))}
                <Each each=move || pieces.get() key=Key::of children=move |piece| piece_view(items, &piece) />
                {move || silent.get().then(|| view! { <Thinking waiting /> })}
                {part(text.plan_evaluation(), |line| line.judgement.clone())}
            </div>
        </li>
    }
    .into_any()
}

/// The items among pieces.
fn keys_of(pieces: &[Segment]) -> Vec<ItemKey> {
    let keys = pieces.iter().filter_map(|piece| match piece {
        Segment::Items(keys) => Some(keys.as_slice()),
        Segment::Text(_) | Segment::Plan => None,
    });
    keys.flatten().copied().collect()
}

/// Whether one of the calls among pieces waits for a decision.
fn has_waiting_call(entry: &Entry, pieces: &[Segment]) -> bool {
    let keys = keys_of(pieces);
    entry.calls().any(|call| call.awaits_decision() && keys.contains(&ItemKey::Call(call.id)))
}

/// The mark of a step: its number until it is worked on, then how it stands with it. The words are beside it.
pub(crate) fn mark(state: StepState, number: usize) -> AnyView {
    let icon = match state {
        StepState::Waiting => return view! { <span aria-hidden="true">{number}</span> }.into_any(),
        StepState::Working => return view! { <span class="spinner" aria-hidden="true"></span> }.into_any(),
        StepState::Awaiting => Icon::Hand,
        StepState::Stopped | StepState::Skipped => Icon::Bar,
        StepState::Done => Icon::Check,
        StepState::Failed => Icon::Cross,
    };
    view! { <Draw icon /> }.into_any()
}
