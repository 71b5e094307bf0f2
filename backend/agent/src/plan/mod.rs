//! Answering by a plan: a model makes one, each of its steps is a run of the loop and is judged, what fails is tried again or
//! planned anew, and at the end the answer is written from what came of it. What is to be done next follows from the plan as
//! it is stored, so a turn that was cut off or has waited goes on where it was. How a plan is made is in `make`, how a step
//! is judged in `judge`, what the models are told in `words`; how they are asked, and read, in `ask`.

mod ask;
mod judge;
mod make;
mod words;

use std::collections::HashMap;

use tallybook_llm::ToolChoice;
use tallybook_protocol::{Plan, PlanStep, PlanStepId, PlanStepStatus};

use self::{
    judge::{Verdict, judge},
    words::{answer_task, step_task},
};
use super::{
    error::AgentError,
    react::{React, RunEnd},
    recorder::{NewPlan, PlanStepChange, TurnRecorder},
    turn::{AnsweredStep, ContinuedPlan, Planning},
};

/// Answers by a plan; where none can be made, without one.
pub(super) async fn run<R: TurnRecorder>(
    react: &mut React<'_, R>,
    planning: &Planning,
    continued: Option<ContinuedPlan>,
    answered: Option<AnsweredStep>,
) -> Result<RunEnd, AgentError> {
    let ContinuedPlan { plan, results } = match continued {
        Some(continued) => continued,
        // It was begun without a plan.
        None if answered.is_some() => return react.run(answered, &ToolChoice::Auto).await,
        None => {
            let Some(draft) = make::first(react, planning).await? else {
                tracing::info!("there is no plan to be had, so the question is answered without one");
                return react.run(None, &ToolChoice::Auto).await;
            };
            ContinuedPlan { plan: react.recorder.plan_made(&draft).await?, results: HashMap::new() }
        }
    };
    Planned { react, planning, plan, results, anew: None, gives_up: false }.run(answered).await
}

/// A plan that is worked on.
struct Planned<'r, 'a, R> {
    react: &'r mut React<'a, R>,
    planning: &'r Planning,
    plan: Plan,
    /// What came of the steps.
    results: HashMap<PlanStepId, String>,
    /// Why it is to be planned anew, where somebody asked for that.
    anew: Option<String>,
    /// There is no other plan to be had.
    gives_up: bool,
}

/// What is to be done next.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// Working on the step at this place.
    Work(usize),
    /// Planning anew, for this reason.
    PlanAnew(String),
    /// Answering from what there is.
    Answer,
}

impl<R: TurnRecorder> Planned<'_, '_, R> {
    async fn run(mut self, mut answered: Option<AnsweredStep>) -> Result<RunEnd, AgentError> {
        loop {
            let next = match self.next() {
                work @ Next::Work(_) => work,
                // What was answered after the last step is the answer's.
                _ if answered.is_some() => Next::Answer,
                next => next,
            };
            match next {
                Next::Work(at) => {
                    if let Some(waits) = self.work(at, answered.take()).await? {
                        return Ok(waits);
                    }
                }
                Next::PlanAnew(reason) => self.plan_anew(reason).await?,
                Next::Answer => {
                    let task = answer_task(&self.plan, &self.results)?;
                    self.react.told.set_task(task);
                    return self.react.run(answered, &ToolChoice::None).await;
                }
            }
        }
    }

    fn next(&self) -> Next {
        let steps = &self.plan.steps;
        let place = |status| steps.iter().position(|step| step.status == status);
        if let Some(at) = place(PlanStepStatus::Executing) {
            return Next::Work(at);
        }
        if self.gives_up || self.is_used_up() {
            return Next::Answer;
        }
        if let Some(reason) = &self.anew {
            return Next::PlanAnew(reason.clone());
        }
        let of_this_revision = steps.iter().filter(|step| step.revision == self.plan.revision);
        if let Some(failed) = of_this_revision.rev().find(|step| step.status == PlanStepStatus::Failed) {
            return Next::PlanAnew(failed.reason.clone().unwrap_or_default());
        }
        place(PlanStepStatus::Pending).map_or(Next::Answer, Next::Work)
    }

    /// Whether there is no further attempt.
    fn is_used_up(&self) -> bool {
        let attempts: i64 = self.plan.steps.iter().map(|step| i64::from(step.attempt)).sum();
        attempts >= i64::from(self.planning.max_total_attempts) || self.react.is_used_up()
    }

    /// Makes an attempt at a step, or goes on with one. Gives how the run ends where calls wait for consent.
    async fn work(&mut self, at: usize, answered: Option<AnsweredStep>) -> Result<Option<RunEnd>, AgentError> {
        if self.plan.steps[at].status == PlanStepStatus::Pending {
            self.change(at, PlanStepStatus::Executing, 1, None).await?;
        }
        let task = step_task(&self.plan, &self.plan.steps[at], &self.results)?;
        self.react.told.set_task(task);
        let ended = match self.react.run(answered, &ToolChoice::Auto).await {
            Ok(waits @ RunEnd::AwaitsApproval) => return Ok(Some(waits)),
            Ok(RunEnd::Over { stop_reason, last_words }) => Ok((stop_reason, last_words)),
            Err(AgentError::Model(error)) => Err(error),
            Err(error) => return Err(error),
        };
        let said = self.react.told.said();
        self.react.told.forget_steps();
        let PlanStep { step_id, attempt, .. } = self.plan.steps[at];
        self.results.insert(step_id, said);
        let verdict = match ended {
            Ok((stop_reason, words)) => {
                judge(self.react, &self.plan, &self.plan.steps[at], &stop_reason, &words).await?
            }
            Err(error) => {
                tracing::warn!(code = error.code(), %error, "a model failed in a step of a plan");
                Verdict::failed(&error.to_string())
            }
        };
        let Verdict { passed, reason, need_replan } = verdict;
        let may_try_again =
            i64::from(attempt) < i64::from(self.planning.max_attempts) && !need_replan && !self.is_used_up();
        if passed {
            self.change(at, PlanStepStatus::Completed, attempt, reason.clone()).await?;
        } else if may_try_again {
            self.change(at, PlanStepStatus::Executing, attempt + 1, reason.clone()).await?;
        } else {
            self.change(at, PlanStepStatus::Failed, attempt, reason.clone()).await?;
        }
        if need_replan {
            self.anew = Some(reason.unwrap_or_default());
        }
        Ok(None)
    }

    async fn change(
        &mut self,
        at: usize,
        status: PlanStepStatus,
        attempt: i32,
        reason: Option<String>,
    ) -> Result<(), AgentError> {
        let (plan_id, step_id, next_step) = (self.plan.plan_id, self.plan.steps[at].step_id, self.react.step);
        let change = PlanStepChange { plan_id, step_id, status, attempt, reason, next_step };
        let changed = self.react.recorder.plan_step_changed(&change).await?;
        self.plan.apply(&changed);
        Ok(())
    }

    /// Makes a plan of what is left to be done; where there is none to be had, what there is must do.
    async fn plan_anew(&mut self, reason: String) -> Result<(), AgentError> {
        let draft = make::anew(self.react, self.planning, &self.plan, &self.results, &reason).await?;
        let Some(draft) = draft else {
            tracing::info!("there is no other plan to be had, so the answer is made from what there is");
            self.gives_up = true;
            return Ok(());
        };
        self.anew = None;
        let draft = NewPlan { reason: Some(reason).filter(|reason| !reason.is_empty()), ..draft };
        self.plan = self.react.recorder.plan_made(&draft).await?;
        Ok(())
    }
}
