//! Answers a question in plan mode. A model makes the plan. Each step is a run of the agent loop, and is judged. A
//! failed step is retried, or a model makes a new plan for the remaining work. At the end, the model writes the answer
//! from the results of the steps.
//!
//! The next action follows from the stored plan, so a turn resumes where it was after an interruption or a wait. `make`
//! makes plans, `judge` judges steps, `prompts` builds the prompts, and `ask` calls the models and parses their
//! answers.

mod ask;
mod judge;
mod make;
pub(crate) mod prompts;

use std::collections::HashMap;

use tallybook_llm::ToolChoice;
use tallybook_protocol::{Plan, PlanStep, PlanStepId, PlanStepStatus};

use self::judge::{Verdict, judge};
use super::{
    error::AgentError,
    react::{AgentLoop, RunEnd},
    recorder::{NewPlan, PlanStepChange, TurnRecorder},
    turn::{AnsweredStep, ContinuedPlan, Planning},
};
use crate::plan::prompts::{answer_task, step_task};

/// Answers the question by making a plan and running its steps. Answers without a plan if the model produces no valid
/// one.
pub(crate) async fn run<R: TurnRecorder>(
    react: &mut AgentLoop<'_, R>,
    planning: &Planning,
    continued: Option<ContinuedPlan>,
    answered: Option<AnsweredStep>,
) -> Result<RunEnd, AgentError> {
    let ContinuedPlan { plan, results } = match continued {
        Some(continued) => continued,
        // The turn began without a plan.
        None if answered.is_some() => return react.run(answered, &ToolChoice::Auto).await,
        None => {
            let Some(draft) = make::first(react, planning).await? else {
                tracing::info!("the model made no valid plan; answering without a plan");
                return react.run(None, &ToolChoice::Auto).await;
            };
            ContinuedPlan { plan: react.recorder.plan_made(&draft).await?, results: HashMap::new() }
        }
    };
    Planned { react, planning, plan, results, replan: None, is_exhausted: false }.run(answered).await
}

/// A plan in progress.
struct Planned<'r, 'a, R> {
    react: &'r mut AgentLoop<'a, R>,
    planning: &'r Planning,
    plan: Plan,
    /// The results of the steps.
    results: HashMap<PlanStepId, String>,
    /// The reason for a new plan, if a judge asked for one.
    replan: Option<String>,
    /// `true` if no further plan can be made.
    is_exhausted: bool,
}

/// The next action.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// Work on the step at this index.
    Work(usize),
    /// Make a new plan, for this reason.
    Replan(String),
    /// Answer from the results so far.
    Answer,
}

impl<R: TurnRecorder> Planned<'_, '_, R> {
    async fn run(mut self, mut answered: Option<AnsweredStep>) -> Result<RunEnd, AgentError> {
        loop {
            let next = match self.next() {
                work @ Next::Work(_) => work,
                // A step that was answered after the last plan step belongs to the final answer.
                _ if answered.is_some() => Next::Answer,
                next => next,
            };
            match next {
                Next::Work(at) => {
                    if let Some(waits) = self.work(at, answered.take()).await? {
                        return Ok(waits);
                    }
                }
                Next::Replan(reason) => self.replan(reason).await?,
                Next::Answer => {
                    let task = answer_task(&self.plan, &self.results)?;
                    self.react.context.set_task(task);
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
        if self.is_exhausted || self.is_used_up() {
            return Next::Answer;
        }
        if let Some(reason) = &self.replan {
            return Next::Replan(reason.clone());
        }
        let of_this_revision = steps.iter().filter(|step| step.revision == self.plan.revision);
        if let Some(failed) = of_this_revision.rev().find(|step| step.status == PlanStepStatus::Failed) {
            return Next::Replan(failed.reason.clone().unwrap_or_default());
        }
        place(PlanStepStatus::Pending).map_or(Next::Answer, Next::Work)
    }

    /// Returns `true` if no further attempt is allowed.
    fn is_used_up(&self) -> bool {
        let attempts: i64 = self.plan.steps.iter().map(|step| i64::from(step.attempt)).sum();
        attempts >= i64::from(self.planning.max_total_attempts) || self.react.is_used_up()
    }

    /// Makes an attempt at a step, or resumes one. Returns the end of the run if calls wait for approval, otherwise
    /// `None`.
    async fn work(&mut self, at: usize, answered: Option<AnsweredStep>) -> Result<Option<RunEnd>, AgentError> {
        if self.plan.steps[at].status == PlanStepStatus::Pending {
            self.change(at, PlanStepStatus::Executing, 1, None).await?;
        }
        let task = step_task(&self.plan, &self.plan.steps[at], &self.results)?;
        self.react.context.set_task(task);
        let ended = match self.react.run(answered, &ToolChoice::Auto).await {
            Ok(waits @ RunEnd::AwaitsApproval) => return Ok(Some(waits)),
            Ok(RunEnd::Over { stop_reason, final_text }) => Ok((stop_reason, final_text)),
            Err(AgentError::Model(error)) => Err(error),
            Err(error) => return Err(error),
        };
        let text_since_question = self.react.context.text_since_question();
        self.react.context.forget_steps();
        let PlanStep { step_id, attempt, .. } = self.plan.steps[at];
        self.results.insert(step_id, text_since_question);
        let verdict = match ended {
            Ok((stop_reason, text)) => judge(self.react, &self.plan, &self.plan.steps[at], &stop_reason, &text).await?,
            Err(error) => {
                tracing::warn!(code = error.code(), %error, "a model call failed in a step of a plan");
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
            self.replan = Some(reason.unwrap_or_default());
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

    /// Makes a new plan for the remaining work. If the model produces no valid plan, marks the plan as exhausted, so
    /// that the answer is written from the results so far.
    async fn replan(&mut self, reason: String) -> Result<(), AgentError> {
        let draft = make::replan(self.react, self.planning, &self.plan, &self.results, &reason).await?;
        let Some(draft) = draft else {
            tracing::info!("the model made no valid new plan; answering from the results so far");
            self.is_exhausted = true;
            return Ok(());
        };
        self.replan = None;
        let draft = NewPlan { reason: Some(reason).filter(|reason| !reason.is_empty()), ..draft };
        self.plan = self.react.recorder.plan_made(&draft).await?;
        Ok(())
    }
}
