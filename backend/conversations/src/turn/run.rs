//! Runs one turn in a task of its own: runs the agent, and stores the end, while the process holds the turn's lease
//! (`lease`). The run does not depend on client connections. It continues until the answer is complete, fails, is
//! stopped or waits for approval, until this process loses the lease, or until the server shuts down.

use std::{
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::FutureExt;
use tallybook_accounts::{UserId, UserPermissions};
use tallybook_agent::{
    AgentError, EndReason, RecordError, ResumeState, TurnInput, TurnOutcome, invoke_agent, record_failure, record_usage,
};
use tallybook_llm::{ModelMessage, Quirk, tokens};
use tallybook_protocol::{AnswerMode, MessageStatus, Usage};
use tallybook_tools::{ToolRegistry, ToolSpec, UserKey};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::{
    admission::RequestLimits,
    context::Context,
    store::{
        ConversationId, message_files,
        turn_settings::TurnSettings,
        turns::{FIRST_EPOCH, TurnRows},
    },
    turn::{
        api::client_input::ClientInput,
        context::{BuiltContext, ContextBuilder, NewQuestion, history::steps_from, prompt_files::PromptFiles, summary},
        documents::{Document, list_named},
        finish::{EndError, EndWriter, RunEnd},
        lease::keep_lease,
        plan::find_place,
        read_file::with_read_file,
        recorder::{
            StoringRecorder, record_error,
            writer::{Totals, TurnWriter},
        },
        resume_state::continued_turn,
        title,
    },
};
use crate::{journal::TurnLog, models::Model};

/// Parameters of one run of a turn.
pub(crate) struct RunParams {
    pub(crate) user: UserId,
    /// The user's permissions when this run began.
    pub(crate) permissions: UserPermissions,
    /// The settings of the server and the user's groups when this run began.
    pub(crate) limits: RequestLimits,
    pub(crate) conversation_id: ConversationId,
    pub(crate) rows: TurnRows,
    /// Model that answers.
    pub(crate) model: Arc<Model>,
    pub(crate) settings: TurnSettings,
    /// Client-supplied input that replaces the stored history in the prompt. `None` if the stored history is used.
    pub(crate) client_input: Option<Arc<ClientInput>>,
    pub(crate) mode: AnswerMode,
    /// The question, if it is in memory already. `None` for a resumed turn.
    pub(crate) question: Option<NewQuestion>,
}

/// A turn that is stored and about to run.
pub(crate) struct Turn {
    pub(crate) context: Arc<Context>,
    pub(crate) params: RunParams,
    pub(crate) log: Arc<TurnLog>,
    pub(crate) cancel: CancellationToken,
}

/// Marks a turn as running in this process until the guard is dropped. It is dropped even if the task panics, so that
/// recovery can then end the turn.
struct RunningGuard {
    context: Arc<Context>,
    user: UserId,
    rows: TurnRows,
    log: Arc<TurnLog>,
}

impl RunningGuard {
    fn of(turn: &Turn) -> Self {
        let RunParams { user, rows, .. } = turn.params;
        Self { context: Arc::clone(&turn.context), user, rows, log: Arc::clone(&turn.log) }
    }
}

impl Drop for RunningGuard {
    fn drop(&mut self) {
        self.context.journal.close(&self.log);
        self.context.running.remove(self.rows);
        self.context.feeds.announce(self.user);
    }
}

impl Turn {
    /// Runs the turn and stores its end. If the turn is ended elsewhere first, returns without storing an end.
    pub(crate) async fn run(mut self) {
        let message_id = self.params.rows.assistant_message_id;
        let guard = RunningGuard::of(&self);
        let writer = Arc::new(TurnWriter::new(self.context.db.clone(), Arc::clone(&self.log), self.params.rows));
        let membership = self.context.text_flusher.join(&writer);
        let (began, question) = (Instant::now(), self.params.question.take());
        let may_have_files = question.as_ref().is_none_or(NewQuestion::has_files);
        let answer = AssertUnwindSafe(self.answer(&writer, question)).catch_unwind();
        let result = tokio::select! {
            result = answer => result.ok(),
            () = keep_lease(&self.context, self.params.rows) => Some(Err(RecordError::LostLease.into())),
        };
        // The turn leaves the group commit, because the write of the end also stores the remaining text.
        drop(membership);
        let mut complete = false;
        if let Some(Err(AgentError::Record(RecordError::LostLease))) = result {
            tracing::warn!(%message_id, "a turn was ended by another process");
        } else {
            let end = RunEnd { active: began.elapsed(), ..self.describe(result) };
            self.context.work_counts.count_turn(end.active);
            let (context, log, model) = (&self.context, &self.log, &self.params.model);
            let end_writer = EndWriter {
                context,
                writer: &writer,
                log,
                conversation_id: self.params.conversation_id,
                model,
                mode: self.params.mode,
                has_client_input: self.params.client_input.is_some(),
                may_have_files,
            };
            // Renews the lease until the database accepts the end. Otherwise another process would treat the turn as
            // abandoned. If the lease is lost, `end_writer` still continues: it detects that the turn was ended
            // elsewhere, or that an unconfirmed commit has stored this end already.
            let lease = keep_lease(&self.context, self.params.rows).then(|()| std::future::pending());
            let stored = tokio::select! {
                stored = end_writer.write(&end) => stored,
                () = lease => None,
            };
            self.log_end(stored, end.active, writer.totals());
            complete = stored == Some(MessageStatus::Complete);
        }
        drop(guard);
        if complete {
            if self.params.limits.settings.titles {
                title::spawn_title(
                    &self.context,
                    &self.params.model,
                    self.params.user,
                    self.params.conversation_id,
                    self.params.rows,
                );
            }
            let (memory, answer) = (self.params.limits.settings.memory.clone(), self.params.rows.assistant_message_id);
            summary::spawn_summary(&self.context, memory, &self.params.model, self.params.conversation_id, answer);
        }
    }

    /// Runs the agent and records its events.
    async fn answer(&self, writer: &TurnWriter, question: Option<NewQuestion>) -> Result<TurnOutcome, AgentError> {
        let (input, context_builder) = self.input(writer, question).await?;
        let mut recorder =
            StoringRecorder::new(writer, &self.context, context_builder, self.params.user, &self.params.limits);
        let (model, context) = (self.params.model.client(), &self.context);
        let span = invoke_agent(self.params.rows.assistant_message_id, model.info());
        let agent = context.agent.clone().with_reviewers(self.params.limits.settings.reviewers.clone());
        let ran = agent.run(model, input, &mut recorder, &self.cancel).instrument(span.clone()).await;
        if model.quirks().has(Quirk::NoImages)
            && let Err(error) = message_files::forget_images(&context.db, self.params.rows.user_message_id).await
        {
            tracing::warn!(%error, "it could not be recorded that the model received no images");
        }
        match &ran {
            Ok(outcome) => record_usage(&span, outcome.usage),
            Err(error) => record_failure(&span, error.code()),
        }
        ran
    }

    /// Returns the agent's input, and the builder of its prompt context. The builder can shorten the context if the
    /// model rejects the prompt as too long.
    async fn input<'a>(
        &'a self,
        writer: &'a TurnWriter,
        question: Option<NewQuestion>,
    ) -> Result<(TurnInput, ContextBuilder<'a>), AgentError> {
        let epoch = self.params.rows.epoch;
        let context = &*self.context;
        let TurnSettings { instructions, disabled_tools, has_documents } = self.params.settings.clone();
        let server_instructions = self.params.limits.settings.instructions.clone();
        let may_read = has_documents && !disabled_tools.contains("read_file");
        let documents = if has_documents {
            list_named(&context.db, self.params.conversation_id).await.map_err(record_error)?
        } else {
            Arc::default()
        };
        let tools = context.tools_of_turn(&self.params.permissions, disabled_tools, &self.cancel).await;
        let tools = if may_read { with_read_file(context, Arc::clone(&documents), tools) } else { tools };
        let is_resumed = epoch != FIRST_EPOCH;
        let client_input = self.params.client_input.as_deref();
        let ClientInput { system, sampling, tools: client_tools, tool_choice, .. } =
            client_input.map(ClientInput::without_messages).unwrap_or_default();
        let client_tools: Vec<ToolSpec> = client_tools.into_iter().map(ToolSpec::from).collect();
        let overhead_tokens = context.agent.tokens_beside_history(&tools.specs())?
            + tokens::of_tools(&client_tools)
            + system
                .iter()
                .chain([&instructions, &server_instructions])
                .map(|text| tokens::of_text(text))
                .sum::<usize>();
        let mut context_builder = ContextBuilder {
            context,
            writer,
            user: self.params.user,
            conversation_id: self.params.conversation_id,
            rows: self.params.rows,
            model: &self.params.model,
            settings: &self.params.limits.settings,
            client_input,
            documents: Arc::clone(&documents),
            is_resumed,
            overhead_tokens,
            previous_tokens: 0,
            question,
        };
        let BuiltContext { earlier: mut history, current, summary } =
            context_builder.build().await.map_err(record_error)?;
        let continued = if is_resumed {
            Some(self.continued(&tools, documents, &mut history, current).await.map_err(record_error)?)
        } else {
            history.extend(current);
            None
        };
        let plan = (self.params.mode == AnswerMode::Plan).then_some(&self.params.limits.settings.plan);
        let planning = plan.and_then(|plan| plan.planning(&context.models, &self.params.model));
        let input = TurnInput {
            history,
            system,
            summary,
            sampling,
            continued,
            server_instructions,
            instructions,
            zone: context.time_zones.of(self.params.user),
            user_key: UserKey(self.params.user.0),
            tools,
            client_tools,
            tool_choice,
            planning,
        };
        Ok((input, context_builder))
    }

    /// Returns the state from which a resumed turn continues. Appends `current` to `history`: the question and the
    /// steps of the answer so far. In a planned turn, appends only the steps that the plan in the prompt does not
    /// cover.
    async fn continued(
        &self,
        tools: &ToolRegistry,
        documents: Arc<[Document]>,
        history: &mut Vec<ModelMessage>,
        mut current: Vec<ModelMessage>,
    ) -> sqlx::Result<ResumeState> {
        let (context, message_id) = (&*self.context, self.params.rows.assistant_message_id);
        let place = match self.params.mode {
            AnswerMode::React => None,
            AnswerMode::Plan => find_place(&context.db, message_id, &self.log.read_text(str::to_owned)).await?,
        };
        if let Some(place) = &place {
            // The plan in the prompt contains the results of the completed plan steps. So only the question and the
            // agent steps from `from_step` on are appended.
            current.truncate(1);
            current.extend(steps_from(context, message_id, place.from_step).await?);
            let mut files = PromptFiles::of_model(context, &self.params.model, documents);
            files.load_all(self.params.user, &mut current).await?;
        }
        history.extend(current);
        continued_turn(context, tools, message_id, history, place).await
    }

    /// Logs the end of this run: its stored status, its duration, and its totals, but no text of the conversation.
    fn log_end(&self, stored: Option<MessageStatus>, active: Duration, totals: Totals) {
        let Totals { steps, calls, usage: Usage { input_tokens, output_tokens, .. } } = totals;
        let (status, model) = (stored.map_or("not stored", MessageStatus::as_str), self.params.model.name());
        let ms = u64::try_from(active.as_millis()).unwrap_or(u64::MAX);
        tracing::info!(status, model, steps, calls, input_tokens, output_tokens, ms, "a turn ended");
    }

    /// Returns the end for the result of a run, and logs the error if the run failed. The result `None` means that the
    /// run panicked.
    fn describe(&self, result: Option<Result<TurnOutcome, AgentError>>) -> RunEnd {
        let error = match result {
            Some(Ok(outcome)) => {
                let (status, stop_reason) = match outcome.reason {
                    EndReason::Over(word) => (MessageStatus::Complete, Some(word)),
                    EndReason::AwaitsApproval => (MessageStatus::AwaitingApproval, None),
                };
                return RunEnd { stop_reason, usage: outcome.usage, ..RunEnd::new(status) };
            }
            Some(Err(AgentError::Cancelled)) if self.context.shut_down.is_cancelled() => {
                return RunEnd::failed(MessageStatus::Interrupted, EndError::ShutDown);
            }
            Some(Err(AgentError::Cancelled)) => return RunEnd::new(MessageStatus::Stopped),
            Some(Err(error)) => error,
            None => return RunEnd::failed(MessageStatus::Failed, EndError::Panicked),
        };
        let detail = std::error::Error::source(&error).map(ToString::to_string);
        let message_id = self.params.rows.assistant_message_id;
        tracing::warn!(%message_id, code = error.code(), %error, detail, "a turn failed");
        let status = match error {
            AgentError::Record(
                RecordError::TooLong { .. } | RecordError::OutOfTokens { .. } | RecordError::OutOfBudget { .. },
            ) => MessageStatus::Failed,
            AgentError::Record(_) => MessageStatus::Interrupted,
            _ => MessageStatus::Failed,
        };
        RunEnd::failed(status, EndError::Agent(error))
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, sync::Arc, time::Duration};

    use futures_util::FutureExt as _;
    use tallybook_accounts::{UserId, UserPermissions};
    use tallybook_database::select;
    use tallybook_llm::{ModelClient, ModelRequest, ModelStream};
    use tallybook_protocol::{AnswerMode, ModelInfo};

    use crate::{
        admission::RequestLimits,
        models::{Model, ModelChoice, ModelEntry},
        store::turn_settings::TurnSettings,
        turn::{
            run::{RunParams, Turn},
            testing::Fixture,
        },
    };

    /// A client with a bug.
    struct Panics(ModelInfo);

    impl ModelClient for Panics {
        fn info(&self) -> &ModelInfo {
            &self.0
        }

        fn stream(&self, _: ModelRequest) -> ModelStream {
            panic!("this client has a bug")
        }
    }

    /// Begins a turn that `model` will answer.
    async fn begin(fixture: &Fixture, model: Arc<Model>) -> Turn {
        let context = Arc::clone(&fixture.service.context);
        let (tx, rows) = fixture.begin_turn().await;
        tx.commit().await.unwrap();
        let (cancel, log) = (
            context.running.add(rows, &context.shut_down),
            context.journal.open(rows.assistant_message_id, rows.epoch),
        );
        let params = RunParams {
            user: UserId::LOCAL,
            permissions: UserPermissions::default(),
            limits: RequestLimits { settings: context.changeable(), groups: Vec::new() },
            conversation_id: fixture.conversation_id,
            rows,
            model,
            settings: TurnSettings {
                instructions: String::new(),
                disabled_tools: BTreeSet::new(),
                has_documents: false,
            },
            client_input: None,
            mode: AnswerMode::React,
            question: None,
        };
        Turn { context, params, log, cancel }
    }

    #[tokio::test]
    async fn a_turn_that_panics_fails_and_the_conversation_continues() {
        let fixture = Fixture::set_up().await;
        let context = &fixture.service.context;
        let entry = ModelEntry::from_environment(ModelChoice::Demo { pace: Duration::ZERO });
        let info = ModelInfo { provider: "demo".to_owned(), model: "demo".to_owned() };
        let model = Model::with_client(&entry, Arc::new(Panics(info))).unwrap();
        let turn = begin(&fixture, Arc::new(model)).await;
        let (rows, log) = (turn.params.rows, Arc::clone(&turn.log));
        Box::pin(turn.run()).await;
        assert!(!context.running.contains(rows.assistant_message_id) && log.has_ended());
        let stored = context.db.reader().query(select!("SELECT status, error_code FROM messages WHERE id = ?"));
        let stored: (String, Option<String>) = stored.bind(rows.assistant_message_id).fetch_one().await.unwrap();
        assert_eq!(stored, ("failed".to_owned(), Some("internal".to_owned())));
        // The turn no longer claims the conversation, so another turn can begin.
        Box::pin(begin(&fixture, context.models.default_model()).await.run()).await;
        let count = select!("SELECT COUNT(*) FROM messages WHERE role = 'assistant' AND status = 'complete'");
        assert_eq!(context.db.reader().query(count).fetch_value::<i64>().await.unwrap(), 1);
    }

    /// If the server drops the future of a turn, nothing but the stored row remains of it.
    #[tokio::test]
    async fn a_turn_whose_future_is_dropped_is_unregistered() {
        let fixture = Fixture::set_up().await;
        let context = &fixture.service.context;
        let turn = begin(&fixture, context.models.default_model()).await;
        let (rows, log) = (turn.params.rows, Arc::clone(&turn.log));
        let mut run = Box::pin(turn.run());
        assert!((&mut run).now_or_never().is_none(), "the turn reads its history first");
        assert!(context.running.contains(rows.assistant_message_id) && !log.has_ended());
        drop(run);
        assert!(!context.running.contains(rows.assistant_message_id) && log.has_ended());
        assert!(context.journal.find(rows.assistant_message_id).is_none());
    }
}
