//! Running a call again: a low-risk one, with its input or another one, to see what its tool says now. The history stays what
//! it is; what is run again has a row of its own beside it, before its tool runs.

use std::sync::Arc;
use tallybook_database::now;

use tallybook_protocol::{ToolCallId, ToolCallStatus};
use tallybook_tools::{HIDDEN, Risk, ToolRegistry, Whose};
use tokio::sync::OwnedSemaphorePermit;

use super::{
    Book, BookError,
    limits::{MAX_LISTED_RERUNS, MAX_RERUN_INPUT_BYTES, MAX_SHOWN_CHARS, RERUN_LEEWAY},
    no_rerun::NoRerun,
    store::{
        looks::Action,
        reruns::{self, NewRerun, RerunId, RerunRow, RerunTextsRow},
        whole::{self, WholeCallRow},
    },
};
use crate::accounts::Caller;

/// What came of a call that was run again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reruns {
    /// The newest first.
    pub(crate) rows: Vec<(RerunState, RerunRow)>,
    /// That one of them which is shown whole.
    pub(crate) shown: Option<RerunTextsRow>,
}

/// How far a re-run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RerunState {
    Running,
    Success,
    Error,
    /// Its server ended before it did.
    Unknown,
}

/// A call that is about to be run again. Its row is there.
pub(crate) struct BegunRerun {
    pub(crate) id: RerunId,
    book: Book,
    tools: Arc<ToolRegistry>,
    tool: String,
    input: String,
    whose: Whose,
    _permit: OwnedSemaphorePermit,
}

impl Book {
    /// Notes that a call is run again, which needs a reason where it is somebody else's.
    pub(crate) async fn begin_rerun(
        &self,
        reader: &Caller,
        id: ToolCallId,
        input: String,
    ) -> Result<BegunRerun, BookError> {
        let context = &self.context;
        let owner = whole::find_call(&context.db, id).await?.ok_or(BookError::NoSuchCall)?.user_id;
        self.look(reader, owner, Action::CallOpened, &id.to_string()).await?;
        // With its texts, which say whether something secret was left out of them.
        let row = whole::find_call_texts(&context.db, id, MAX_SHOWN_CHARS).await?.ok_or(BookError::NoSuchCall)?;
        let tools = self.find_rerun_tools(&row).await?.map_err(BookError::NoRerun)?;
        if input.len() > MAX_RERUN_INPUT_BYTES {
            return Err(BookError::NoRerun(NoRerun::TooLong));
        }
        let permit = context.reruns.clone().try_acquire_owned().map_err(|_| BookError::TooManyReruns)?;
        // A secret of the settings is for no tool; the call fails with what is left.
        let input = context.agent.hide_secrets(input);
        let new = NewRerun { call: id, user: reader.user, input: &input, at: now() };
        let id = reruns::create(&context.db, new).await?;
        Ok(BegunRerun {
            id,
            book: self.clone(),
            tools,
            tool: row.tool_name,
            input,
            whose: Whose(reader.user.0),
            _permit: permit,
        })
    }

    /// The tools with which a call can be run again, or why it cannot.
    pub(super) async fn find_rerun_tools(
        &self,
        row: &WholeCallRow,
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
        if spec.risk == Risk::High || row.asked_consent {
            return Ok(Err(NoRerun::HighRisk));
        }
        if spec.has_secret_arguments() || row.input.contains(HIDDEN) {
            return Ok(Err(NoRerun::Secret));
        }
        let is_long = usize::try_from(row.input_bytes).is_ok_and(|bytes| bytes > MAX_RERUN_INPUT_BYTES);
        Ok(if is_long { Err(NoRerun::TooLong) } else { Ok(tools) })
    }

    /// How often a call was run again, and one of these with its texts: `wanted`, or else the last one.
    pub(super) async fn find_reruns(&self, call: ToolCallId, wanted: Option<RerunId>) -> sqlx::Result<Reruns> {
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
            // As long to wait for its start, and as long to run.
            _ if row.created_at + 2 * self.context.agent.limits().tool_time + RERUN_LEEWAY < now() => {
                RerunState::Unknown
            }
            _ => RerunState::Running,
        }
    }
}

impl BegunRerun {
    /// Runs it to its end. Dropping this cancels it, and its outcome stays unknown.
    pub(crate) async fn run(self) {
        let Self { id, book, tools, tool, input, whose, _permit } = self;
        let end = book.context.agent.call_alone(&tools, whose, &tool, &input).await;
        book.context.counts.count_tool_call(Some(&tool), &end);
        if let Err(error) = reruns::end(&book.context.db, id, &end).await {
            tracing::warn!(%error, rerun = %id, "what came of a call that was run again could not be stored");
        }
    }
}
