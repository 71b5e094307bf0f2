//! Re-runs a low-risk call, with its own or another input, to see what its tool returns now. The history does not
//! change: a re-run has its own row, which is created before the tool runs.

use std::sync::Arc;

use tallybook_accounts::Caller;
use tallybook_database::now;
use tallybook_protocol::{ToolCallId, ToolCallStatus};
use tallybook_tools::{REDACTED, Risk, ToolRegistry, UserKey};
use tokio::sync::OwnedSemaphorePermit;

use super::{
    ToolHistory, ToolHistoryError,
    limits::{MAX_LISTED_RERUNS, MAX_RERUN_INPUT_BYTES, MAX_SHOWN_CHARS, RERUN_LEEWAY},
    no_rerun::NoRerun,
    store::{
        access_log::Action,
        details::{self, CallDetailsRow},
        reruns::{self, NewRerun, RerunId, RerunRow, RerunTextsRow},
    },
};

/// The re-runs of a call.
#[derive(Clone, Debug, Default)]
pub struct Reruns {
    /// The newest first.
    pub rows: Vec<(RerunState, RerunRow)>,
    /// The re-run that is shown in full.
    pub shown: Option<RerunTextsRow>,
}

/// State of a re-run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RerunState {
    /// The re-run has not finished.
    Running,
    /// The tool succeeded.
    Success,
    /// The tool failed.
    Error,
    /// The server stopped before the re-run finished, so its result is unknown.
    Unknown,
}

/// A re-run that is about to start. Its row is already stored.
pub struct BegunRerun {
    pub id: RerunId,
    history: ToolHistory,
    tools: Arc<ToolRegistry>,
    tool: String,
    input: String,
    user_key: UserKey,
    _permit: OwnedSemaphorePermit,
}

impl ToolHistory {
    /// Stores the start of a re-run. If the call belongs to another user, the caller must have given a reason.
    pub async fn begin_rerun(
        &self,
        caller: &Caller,
        id: ToolCallId,
        input: String,
    ) -> Result<BegunRerun, ToolHistoryError> {
        let context = &self.context;
        let owner = details::find_call(&context.db, id).await?.ok_or(ToolHistoryError::NoSuchCall)?.user_id;
        self.record_access(caller, owner, Action::CallOpened, &id.to_string()).await?;
        // Reads the texts too, because they show whether a secret was redacted.
        let row =
            details::find_call_texts(&context.db, id, MAX_SHOWN_CHARS).await?.ok_or(ToolHistoryError::NoSuchCall)?;
        let tools = self.find_rerun_tools(&row).await?.map_err(ToolHistoryError::NoRerun)?;
        if input.len() > MAX_RERUN_INPUT_BYTES {
            return Err(ToolHistoryError::NoRerun(NoRerun::TooLong));
        }
        let permit = context.reruns.clone().try_acquire_owned().map_err(|_| ToolHistoryError::TooManyReruns)?;
        // Redacts configured secrets, because no tool may receive them. A call user_key input is redacted is expected
        // to fail.
        let input = context.agent.redact_secrets(input);
        let new = NewRerun { call: id, user: caller.user, input: &input, at: now() };
        let id = reruns::create(&context.db, new).await?;
        Ok(BegunRerun {
            id,
            history: self.clone(),
            tools,
            tool: row.tool_name,
            input,
            user_key: UserKey(caller.user.0),
            _permit: permit,
        })
    }

    /// Returns the tools for a re-run of the call, or the reason why it cannot be re-run.
    pub(crate) async fn find_rerun_tools(
        &self,
        row: &CallDetailsRow,
    ) -> sqlx::Result<Result<Arc<ToolRegistry>, NoRerun>> {
        if row.status.is_open() {
            return Ok(Err(NoRerun::Open));
        }
        let tools = self.context.tool_servers.tools();
        let Some(spec) = tools.find_spec(&row.tool_name) else { return Ok(Err(NoRerun::Gone)) };
        if let (Some(server), Some(definition)) = (&spec.server, &spec.definition_hash)
            && !self.context.tool_pins.is_unchanged_since(server, definition, row.started_at).await?
        {
            return Ok(Err(NoRerun::Changed));
        }
        if spec.risk == Risk::High || row.needed_approval {
            return Ok(Err(NoRerun::HighRisk));
        }
        if spec.has_secret_arguments() || row.input.contains(REDACTED) {
            return Ok(Err(NoRerun::Secret));
        }
        let is_long = usize::try_from(row.input_bytes).is_ok_and(|bytes| bytes > MAX_RERUN_INPUT_BYTES);
        Ok(if is_long { Err(NoRerun::TooLong) } else { Ok(tools) })
    }

    /// Returns the re-runs of a call, and the texts of one of them: `wanted`, or the newest if it is `None`.
    pub(crate) async fn find_reruns(&self, call: ToolCallId, wanted: Option<RerunId>) -> sqlx::Result<Reruns> {
        let db = &self.context.db;
        let rows = reruns::list(db, call, MAX_LISTED_RERUNS).await?;
        let shown = match wanted.or(rows.first().map(|row| row.id)) {
            Some(id) => reruns::find_texts(db, call, id, MAX_SHOWN_CHARS).await?,
            None => None,
        };
        let rows = rows.into_iter().map(|row| (self.state_of(&row), row)).collect();
        Ok(Reruns { rows, shown })
    }

    fn state_of(&self, row: &RerunRow) -> RerunState {
        match row.status {
            ToolCallStatus::Success => RerunState::Success,
            ToolCallStatus::Error => RerunState::Error,
            // Twice the tool timeout, because a re-run can wait for its start as long as it can run.
            _ if row.created_at + 2 * self.context.agent.limits().tool_time + RERUN_LEEWAY < now() => {
                RerunState::Unknown
            }
            _ => RerunState::Running,
        }
    }
}

impl BegunRerun {
    /// Runs the call to its end. Dropping the future cancels the call, and its outcome stays unknown.
    pub async fn run(self) {
        let Self { id, history, tools, tool, input, user_key, _permit } = self;
        let end = history.context.agent.run_standalone(&tools, user_key, &tool, &input).await;
        history.context.counts.count_tool_call(Some(&tool), &end);
        if let Err(error) = reruns::end(&history.context.db, id, &end).await {
            tracing::warn!(%error, rerun = %id, "cannot store the result of a re-run");
        }
    }
}
