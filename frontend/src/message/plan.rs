//! The plan of an answer: what must be true in the end, and each step, with what it wrote and called inside. If steps
//! were planned again, a line says so and why.

use tallybook_nodes::{Element, Node};
use tallybook_protocol::{Plan, PlanStep, PlanStepStatus};

use super::{
    clocks::{Clock, is_silent},
    ending,
    parts::{announced, element, foreign, icon, labeled, opener, paragraph, span, spinner},
    pieces::piece,
    view::View,
};
use crate::{
    components::parts::icon::Icon,
    language::Language,
    transcript::{Entry, ItemKey, Segment, StepState},
};

/// Renders the plan of an answer that has one.
pub(super) fn plan(view: View<'_>) -> Vec<Node> {
    let Some(plan) = view.entry.plan.as_deref() else { return Vec::new() };
    let text = view.text;
    let top = element("div")
        .with("class", "plan-top")
        .with_child(icon(Icon::Steps))
        .with_child(element("h3").with_text(text.plan()))
        .with_child(span("plan-count", count_of(plan, text)).with("data-testid", "plan-count"));
    let criteria = (!plan.success_criteria.is_empty())
        .then(|| labeled("plan-goal", text.plan_done_when(), plan.success_criteria.as_str()));
    // Its status line is announced, and not all that its steps write.
    let mut section = element("section")
        .with("class", "plan")
        .with("data-testid", "plan")
        .with("role", "group")
        .with("aria-label", text.plan())
        .with("aria-live", "off")
        .with_child(top)
        .with_child_if_any(criteria);
    for round in rounds_of(plan) {
        section.children.extend(render_round(view, plan, &round));
    }
    let spoken = view.live.map(|_| announced(announcement(view.entry, text)));
    [section.into()].into_iter().chain(spoken.map(Node::from)).collect()
}

/// Steps that were planned together.
struct Round {
    revision: i32,
    /// Number of the first step, from 1.
    first: usize,
    /// `true` if it replaces steps that were planned before.
    is_replan: bool,
}

fn rounds_of(plan: &Plan) -> Vec<Round> {
    let mut rounds: Vec<Round> = Vec::new();
    for (step, first) in plan.steps.iter().zip(1..) {
        if rounds.last().is_none_or(|last| last.revision != step.revision) {
            rounds.push(Round { revision: step.revision, first, is_replan: first > 1 });
        }
    }
    rounds
}

fn render_round(view: View<'_>, plan: &Plan, round: &Round) -> Vec<Node> {
    let replan = round.is_replan.then(|| {
        // The reason is known for the last time that steps were planned again.
        let reason = plan.reason.as_deref().filter(|_| plan.revision == round.revision).unwrap_or_default();
        labeled("plan-revised", view.text.plan_revised(), reason).with("data-testid", "plan-anew")
    });
    let steps = plan.steps.iter().zip(1..).filter(|(step, _)| step.revision == round.revision);
    let steps = steps.map(|(step, number)| render_step(view, step, number).into()).collect();
    let list = element("ol")
        .with("class", "plan-steps")
        .with("role", "list")
        .with("start", round.first.to_string())
        .with_children(steps);
    replan.into_iter().chain([list]).map(Node::from).collect()
}

/// Returns how many steps are done, of those that are done or still planned.
fn count_of(plan: &Plan, text: Language) -> String {
    let is_done = |step: &&PlanStep| step.status == PlanStepStatus::Completed;
    let counts = |step: &&PlanStep| step.revision == plan.revision || is_done(step);
    text.steps_done(plan.steps.iter().filter(is_done).count(), plan.steps.iter().filter(counts).count())
}

/// Returns what is announced when a step begins.
fn announcement(entry: &Entry, text: Language) -> Option<String> {
    let at_work = entry.step_at_work()?;
    let steps = &entry.plan.as_ref()?.steps;
    let number = steps.iter().position(|step| step.step_id == at_work.step_id)? + 1;
    Some(text.step_announcement(number, &at_work.instruction))
}

/// Renders a step: its line, and what it wrote and called. That is open while the step is worked on. It always is while
/// one of its calls waits for a decision.
fn render_step(view: View<'_>, step: &PlanStep, number: usize) -> Element {
    let (entry, text) = (view.entry, view.text);
    let state = StepState::of(step, entry.status);
    let pieces = entry.segments_of(step.step_id);
    let notes = Notes::of(step, state, text);
    let seconds = view.live.map_or(0, |live| live.clocks.seconds(Clock::Step(step.step_id)));
    let waited = if state == StepState::Working && seconds > 0 { text.waited(seconds) } else { String::new() };
    let silence = (view.live.is_some() && state == StepState::Working && is_silent(entry, &pieces))
        .then(|| ending::silence(view, Some(step.step_id)));
    let expected =
        (!step.expected.is_empty()).then(|| labeled("plan-note", text.plan_expected(), step.expected.as_str()));
    let mut body = element("div").with("class", "plan-body").with_child_if_any(expected);
    body.children.extend(pieces.iter().filter_map(|segment| piece(view, segment)));
    let body = body
        .with_child_if_any(silence)
        .with_child_if_any(notes.judgment.map(|words| labeled("plan-note", text.plan_evaluation(), words)));
    let state_words = span("plan-state", state_text(step, state, text))
        .with_child_if_any(view.live.map(|_| element("span").with("class", "plan-seconds").with_text(waited)));
    let words = element("span")
        .with("class", "plan-words")
        .with_child(foreign(step.instruction.as_str()).with("class", "plan-instruction"))
        .with_text(" ")
        .with_child(state_words);
    let button = opener(view)
        .with("class", "plan-line")
        .with_child(element("span").with("class", "plan-mark").with_child(step_mark(state, number)))
        .with_child(words);
    let reason = notes
        .reason
        .map(|reason| paragraph("plan-reason", reason).with("data-testid", "plan-reason").with("dir", "auto"));
    let place = element("li")
        .with("class", "plan-step")
        .with("id", format!("plan-{}", step.step_id))
        .with("data-testid", "plan-step")
        .with("data-state", state.name());
    if view.is_printed() {
        return place.with_child(element("details").with_child(button).with_child(body)).with_child_if_any(reason);
    }
    let Some(live) = view.live else { return place };
    let keys = keys_of(&pieces);
    let asks = entry.calls().any(|call| call.awaits_decision() && keys.contains(&ItemKey::Call(call.id)));
    let by_default = matches!(state, StepState::Working | StepState::Awaiting | StepState::Stopped);
    let is_open = asks || live.toggles.is_step_open(live.expand_all, step.step_id, &keys, by_default);
    let body_id = format!("plan-step-{}", step.step_id);
    let button = button
        .with("data-testid", "plan-line")
        .with("data-action", "toggle-step")
        .with("data-key", step.step_id.to_string())
        .with("aria-expanded", is_open.to_string())
        .with("aria-controls", body_id.clone())
        .with_child(element("span").with("class", "tool-chevron").with_child(icon(Icon::Chevron)));
    // All of it stays in the document while it is folded, so that what the user did in it is not lost.
    place
        .with_child(button)
        .with_child_if_any(reason)
        .with_child(body.with("id", body_id).with_mark("hidden", !is_open))
}

/// Returns the items among pieces.
pub(super) fn keys_of(pieces: &[Segment]) -> Vec<ItemKey> {
    let keys = pieces.iter().filter_map(|piece| match piece {
        Segment::Items(keys) => Some(keys.as_slice()),
        Segment::Text(_) | Segment::Plan => None,
    });
    keys.flatten().copied().collect()
}

/// The notes on a step.
struct Notes {
    /// Why it failed, or is tried again.
    reason: Option<String>,
    /// The evaluation's reason for accepting it.
    judgment: Option<String>,
}

impl Notes {
    fn of(step: &PlanStep, state: StepState, text: Language) -> Self {
        let said = step.reason.clone().filter(|reason| !reason.trim().is_empty());
        let (reason, judgment) = match (state, said) {
            (StepState::Done, said) => (None, said),
            (StepState::Failed, said) => (said, None),
            (_, Some(said)) if step.attempt > 1 => (Some(text.retry_reason(&said)), None),
            (_, said) => (said, None),
        };
        Self { reason, judgment }
    }
}

fn state_text(step: &PlanStep, state: StepState, text: Language) -> String {
    let words = text.step_state(state);
    let words = if step.attempt > 1 { format!("{words} · {}", text.attempt(step.attempt)) } else { words.to_owned() };
    // The space keeps the seconds apart.
    format!("{words} ")
}

/// Renders the mark of a step: its number until it is worked on, then the icon of its state. The state's text is beside
/// it.
fn step_mark(state: StepState, number: usize) -> Element {
    icon(match state {
        StepState::Waiting => return element("span").with("aria-hidden", "true").with_text(number.to_string()),
        StepState::Working => return spinner(),
        StepState::Awaiting => Icon::Hand,
        StepState::Stopped | StepState::Skipped => Icon::Bar,
        StepState::Done => Icon::Check,
        StepState::Failed => Icon::Cross,
    })
}
