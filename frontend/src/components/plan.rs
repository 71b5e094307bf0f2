//! The plan that an answer is made by, as a list that fills up: what must be true in the end, and each step. Where it was
//! planned anew, a line says so and why.

use leptos::prelude::*;
use tallybook_protocol::{Plan as StoredPlan, PlanStepStatus};

use crate::{
    components::{
        each::Each,
        icon::{Draw, Icon},
        items::Items,
        plan_step::PlanStep,
        shown::read,
    },
    language::{Language, use_language},
    reactive::memo,
    transcript::Entry,
};

/// The plan of one answer, which has one.
#[component]
pub(crate) fn Plan(items: Items) -> impl IntoView {
    let text = use_language();
    let entry = items.shown.entry;
    let told = move |pick: fn(&StoredPlan) -> String| {
        memo(move |_| read(entry, |entry| entry.plan.as_deref().map(pick).unwrap_or_default()))
    };
    let criteria = told(|plan| plan.success_criteria.clone());
    let count = memo(move |_| read(entry, |entry| entry.plan.as_deref().map(|plan| count_of(plan, text))));
    let rounds = memo(move |_| read(entry, |entry| entry.plan.as_deref().map(rounds_of).unwrap_or_default()));
    let spoken = memo(move |_| read(entry, |entry| spoken_of(entry, text)));
    view! {
        // Told by its status line, and not with all that its steps write.
        <section class="plan" data-testid="plan" role="group" aria-label=text.plan() aria-live="off">
            <div class="plan-top">
                <Draw icon=Icon::Steps />
                <h3>{text.plan()}</h3>
                <span class="plan-count" data-testid="plan-count">{move || count.get()}</span>
            </div>
            {move || (!criteria.with(String::is_empty)).then(|| view! {
                <p class="plan-goal">
                    <span class="plan-label">{text.plan_done_when()}</span>
                    " "
                    <span dir="auto">{criteria.get()}</span>
                </p>
            })}
            <Each
                each=move || rounds.get()
                key=|round| round.revision
                children=move |round: Round| round_view(round, items)
            />
        </section>
        <span class="visually-hidden" role="status">{move || spoken.get()}</span>
    }
    .into_any()
}

/// Steps that were planned together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Round {
    pub(crate) revision: i32,
    /// What the first of them is numbered, from 1.
    pub(crate) first: usize,
    /// Whether others were planned before.
    pub(crate) is_anew: bool,
}

/// The rounds in which a plan was made.
pub(crate) fn rounds_of(plan: &StoredPlan) -> Vec<Round> {
    let mut rounds: Vec<Round> = Vec::new();
    for (step, first) in plan.steps.iter().zip(1..) {
        if rounds.last().is_none_or(|last| last.revision != step.revision) {
            rounds.push(Round { revision: step.revision, first, is_anew: first > 1 });
        }
    }
    rounds
}

/// Why the steps of a round took the place of those before, where that is told: of the last time.
pub(crate) fn reason_of(plan: &StoredPlan, revision: i32) -> Option<&str> {
    plan.reason.as_deref().filter(|reason| plan.revision == revision && !reason.is_empty())
}

fn round_view(Round { revision, first, is_anew }: Round, items: Items) -> AnyView {
    let text = use_language();
    let entry = items.shown.entry;
    let steps = memo(move |_| {
        read(entry, |entry| {
            let steps = entry.plan.iter().flat_map(|plan| &plan.steps).zip(1..);
            let of_round = steps.filter(|(step, _)| step.revision == revision);
            of_round.map(|(step, number)| (step.step_id, number)).collect::<Vec<_>>()
        })
    });
    let reason = memo(move |_| read(entry, |entry| reason_of(entry.plan.as_deref()?, revision).map(str::to_owned)));
    let anew = is_anew.then(|| {
        view! {
            <p class="plan-anew" data-testid="plan-anew">
                <span class="plan-label">{text.plan_revised()}</span>
                " "
                <span dir="auto">{move || reason.get()}</span>
            </p>
        }
    });
    view! {
        {anew}
        <ol class="plan-steps" role="list" start=first.to_string()>
            <Each
                each=move || steps.get()
                key=|(id, _)| *id
                children=move |(id, number)| view! { <PlanStep id number items /> }
            />
        </ol>
    }
    .into_any()
}

/// How far the plan is: of the steps that are done, and those that are still to be.
pub(crate) fn count_of(plan: &StoredPlan, text: Language) -> String {
    let is_done = |step: &&tallybook_protocol::PlanStep| step.status == PlanStepStatus::Completed;
    let counts = |step: &&tallybook_protocol::PlanStep| step.revision == plan.revision || is_done(step);
    text.steps_done(plan.steps.iter().filter(is_done).count(), plan.steps.iter().filter(counts).count())
}

/// What who does not see it is told as it happens.
fn spoken_of(entry: &Entry, text: Language) -> Option<String> {
    let at_work = entry.step_at_work()?;
    let steps = &entry.plan.as_ref()?.steps;
    let number = steps.iter().position(|step| step.step_id == at_work.step_id)? + 1;
    Some(text.step_announcement(number, &at_work.instruction))
}
