//! Runs a turn from its beginning to its end: builds the prompt context and selects the mode (`react` or `plan`).

use std::sync::Arc;

use tallybook_llm::{ModelClient, tokens};
use tallybook_tools::{Secrets, ToolSpec};
use tokio_util::sync::CancellationToken;

use super::{
    call_files::ImageStore,
    error::AgentError,
    limits::Limits,
    model_context::ModelContext,
    plan,
    prompt::{SystemPrompt, Zone, instructions, server_instructions},
    react::{AgentLoop, RunEnd, STEP_LIMIT, STEP_LIMIT_TEXT},
    recorder::TurnRecorder,
    review::Reviewers,
    turn::{AvailableTools, ResumeState, TurnDeadline, TurnInput, TurnOutcome},
};
use crate::tool_step::ToolRunner;

/// Runs turns, each with its own model and tools.
#[derive(Clone)]
pub struct AgentService {
    runner: ToolRunner,
    prompt: SystemPrompt,
    limits: Limits,
}

impl AgentService {
    /// Creates an agent with these limits. Its tools run on the current runtime. Clones share the limit on concurrent
    /// calls, so a process creates one agent and clones it.
    ///
    /// # Panics
    ///
    /// Panics if called outside a Tokio runtime.
    pub fn new(prompt: SystemPrompt, limits: Limits) -> Self {
        Self { runner: ToolRunner::new(limits), prompt, limits }
    }

    /// Sets the models that review high-risk calls; without any, users decide.
    #[must_use]
    pub fn with_reviewers(self, reviewers: Option<Arc<Reviewers>>) -> Self {
        Self { runner: self.runner.with_reviewers(reviewers), ..self }
    }

    /// Sets the store of images that tools return.
    #[must_use]
    pub fn with_images(self, images: Arc<dyn ImageStore>) -> Self {
        Self { runner: self.runner.with_images(images), ..self }
    }

    /// Sets the secrets that the agent redacts.
    #[must_use]
    pub fn with_secrets(self, secrets: Secrets) -> Self {
        Self { runner: self.runner.with_secrets(secrets), ..self }
    }

    pub(crate) fn runner(&self) -> &ToolRunner {
        &self.runner
    }

    /// Redacts secrets in a text.
    pub fn redact_secrets(&self, text: String) -> String {
        self.runner.secrets.redact(text).into_owned()
    }

    /// Redacts secrets in a text that belongs to no call, and also the secret arguments of the latest calls.
    pub fn redact_all(&self, text: String) -> String {
        self.runner.secrets.redact_with_arguments(text).into_owned()
    }

    /// Returns the limits of turns.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Estimates the number of prompt tokens for the system prompt and these tools, without the history.
    pub fn tokens_beside_history(&self, tools: &[ToolSpec]) -> Result<usize, AgentError> {
        Ok(tokens::of_text(&self.prompt.render(tools, &Zone::default())?) + tokens::of_tools(tools))
    }

    /// Runs one turn with `model` to its end, or until calls wait for approval. However the turn ends, every call that
    /// was recorded as started has been recorded as ended, unless recording itself failed.
    pub async fn run(
        &self,
        model: &dyn ModelClient,
        input: TurnInput,
        recorder: &mut impl TurnRecorder,
        cancel: &CancellationToken,
    ) -> Result<TurnOutcome, AgentError> {
        let available = AvailableTools::new(&input.tools, input.client_tools);
        let mut system = vec![self.prompt.render(&available.specs, &input.zone)?];
        system.extend(server_instructions(&input.server_instructions)?);
        system.extend(instructions(&input.instructions)?);
        system.extend(input.system);
        let context = ModelContext::new(system, input.summary.as_deref(), input.history)?;
        let ResumeState { answered, next_step, whole_steps, calls, usage, active, plan } =
            input.continued.unwrap_or_default();
        let mut react = AgentLoop {
            runner: &self.runner,
            model,
            tools: &input.tools,
            user_key: input.user_key,
            available: &available,
            sampling: input.sampling,
            recorder,
            turn_deadline: TurnDeadline::new(cancel, self.limits.turn_time, active),
            context,
            step: next_step,
            whole_steps,
            calls,
            usage,
        };
        let end = match &input.planning {
            Some(planning) => plan::run(&mut react, planning, plan, answered).await?,
            None => react.run(answered, &input.tool_choice).await?,
        };
        if let RunEnd::Over { stop_reason, final_text } = &end
            && stop_reason == STEP_LIMIT
            && final_text.trim().is_empty()
        {
            react.recorder.text(react.step.saturating_sub(1), STEP_LIMIT_TEXT).await?;
        }
        Ok(react.outcome(end))
    }
}

impl std::fmt::Debug for AgentService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentService").field("limits", &self.limits).finish_non_exhaustive()
    }
}
