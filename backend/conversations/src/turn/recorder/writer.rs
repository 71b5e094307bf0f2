//! Writes one turn to the database. Every write first checks that the turn still belongs to this process. It also
//! stores all text, reasoning and model calls that are not stored yet. Results of tool calls are kept here until they
//! are stored.
//!
//! The functions at the end build the events of tool calls: an approval is requested, a call starts, a call ends. Their
//! texts are truncated to what one event may carry.

use std::{
    collections::VecDeque,
    slice,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use chrono::{DateTime, Utc};
use tallybook_agent::{EndedToolCall, ModelCallRecord, Purpose, Review, ReviewDecision, StartedToolCall, Vote};
use tallybook_database::{Database, Transaction, now};
use tallybook_protocol::{
    ApprovalRequested, CallsBudget, ChatEvent, Decision, MessageId, RawJson, ToolCall, ToolCallEnd, ToolCallId,
    ToolCallReview, ToolCallStart, ToolCallStatus, Usage,
};
use tallybook_tools::ToolSpec;
use tokio::sync::{Mutex, MutexGuard};

use crate::journal::{
    EventId, Stored, TurnLog,
    stored::{self, EncodedEvent},
};
use crate::{
    limits::MAX_FALLBACK_END_BYTES,
    store::{
        decisions::{Decider, decided_event},
        model_calls,
        rows::DENIED_TYPE,
        stored_error_type, tool_calls,
        turns::{self, TurnEnd, TurnRows},
    },
};

/// Writer of one turn's rows and events.
pub(crate) struct TurnWriter {
    db: Database,
    log: Arc<TurnLog>,
    rows: TurnRows,
    /// Position up to which text and reasoning are stored. `None` (unknown) after a write whose commit was not
    /// confirmed. Locked during a write, so that nothing is stored twice.
    stored: Mutex<Option<Stored>>,
    /// Model calls that have ended and are not stored yet.
    model_calls: UnstoredCalls,
    /// Results of tool calls that are not stored yet, in the order in which the calls ended.
    ended_calls: parking_lot::Mutex<Vec<(ToolCallId, EndedToolCall)>>,
    totals: parking_lot::Mutex<Totals>,
    /// `true` if the last prompt that was built contains the whole conversation, so that no row says otherwise.
    has_whole_context: AtomicBool,
}

/// Totals of this run of the turn, for the log.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    /// Steps of the answer.
    pub(crate) steps: u32,
    /// Tool calls that ended.
    pub(crate) calls: u32,
    /// Tokens of all model calls.
    pub(crate) usage: Usage,
}

/// `blocks` of a model call without content.
const NO_BLOCKS: &str = "[]";

/// Model calls that the next write stores.
type UnstoredCalls = parking_lot::Mutex<VecDeque<Arc<ModelCallRecord>>>;

/// A transaction that contains the turn's previously unstored model calls. Its commit also stores the unstored text and
/// reasoning. Nothing is permanent before [`Write::commit`].
pub(crate) struct Write<'a> {
    pub(crate) tx: Transaction,
    writer: &'a TurnWriter,
    /// The unstored text and reasoning.
    texts: Vec<(EventId, EncodedEvent)>,
    stored: MutexGuard<'a, Option<Stored>>,
    will_be_stored: Stored,
    /// Number of queued model calls that this transaction stores. They stay queued until the commit succeeds.
    model_calls: usize,
}

impl TurnWriter {
    pub(crate) fn new(db: Database, log: Arc<TurnLog>, rows: TurnRows) -> Self {
        // The text that a resumed turn wrote in earlier runs is stored already.
        let stored = Mutex::new(Some(log.all_text()));
        Self {
            db,
            log,
            rows,
            stored,
            model_calls: UnstoredCalls::default(),
            ended_calls: parking_lot::Mutex::default(),
            totals: parking_lot::Mutex::default(),
            has_whole_context: AtomicBool::new(false),
        }
    }

    /// Returns the database that the writer writes to.
    pub(crate) fn db(&self) -> &Database {
        &self.db
    }

    /// Returns the rows of the turn.
    pub(crate) fn rows(&self) -> TurnRows {
        self.rows
    }

    /// Returns the log of the turn.
    pub(crate) fn log(&self) -> &TurnLog {
        &self.log
    }

    /// Begins a write, which also stores the unstored text, reasoning and model calls. Returns `None` if the turn no
    /// longer runs under this epoch, because it was ended elsewhere or deleted. Then nothing more may happen in the
    /// turn.
    pub(crate) async fn begin(&self) -> sqlx::Result<Option<Write<'_>>> {
        let stored = self.stored.lock().await;
        let mut tx = self.db.begin().await?;
        if !turns::lock_turns(&mut tx, &[self.turn()]).await? {
            return Ok(None);
        }
        self.begin_in(tx, stored).await.map(Some)
    }

    /// Begins the write that ends this run. Storing the end also locks the turn. Otherwise like [`Self::begin`].
    pub(crate) async fn begin_end(&self, end: TurnEnd<'_>) -> sqlx::Result<Option<Write<'_>>> {
        let stored = self.stored.lock().await;
        let mut tx = self.db.begin().await?;
        let (message_id, epoch) = self.turn();
        if !turns::end_turn(&mut tx, message_id, epoch, end).await? {
            return Ok(None);
        }
        self.begin_in(tx, stored).await.map(Some)
    }

    /// Begins a write in a transaction that has locked the turn.
    async fn begin_in<'a>(
        &'a self,
        mut tx: Transaction,
        mut stored: MutexGuard<'a, Option<Stored>>,
    ) -> sqlx::Result<Write<'a>> {
        // From here until the commit succeeds, the stored position is unknown.
        let (message_id, epoch) = self.turn();
        let (is_stored, stored_steps) = if let Some(stored) = stored.take() {
            (stored, Vec::new())
        } else {
            let (is_stored, last_seq) = stored::find_stored(&mut tx, message_id, epoch).await?;
            self.log.skip_to(last_seq.map_or(0, |seq| seq + 1));
            (is_stored, model_calls::list_steps(&mut tx, message_id).await?)
        };
        let (events, will_be_stored) = self.log.unstored(is_stored);
        let texts = self.encoded(&events)?;
        let calls: Vec<_> = self.model_calls.lock().iter().map(Arc::clone).collect();
        for call in &calls {
            let is_stored = call.purpose == Purpose::Answer && stored_steps.contains(&i64::from(call.step));
            if !is_stored {
                model_calls::create_model_call(&mut tx, message_id, call).await?;
            }
        }
        Ok(Write { tx, writer: self, texts, stored, will_be_stored, model_calls: calls.len() })
    }

    /// Queues a model call, which the next write stores. A write always follows: each tool call that the answer
    /// requests begins with one, and so does the end of the turn.
    pub(crate) fn add_model_call(&self, call: ModelCallRecord) {
        let mut totals = self.totals.lock();
        totals.steps += u32::from(call.purpose == Purpose::Answer);
        totals.usage += call.usage;
        drop(totals);
        self.model_calls.lock().push_back(Arc::new(call));
    }

    /// Keeps in memory whether the prompt contains the whole conversation. Its row says so, too.
    pub(crate) fn set_whole_context(&self, is_whole: bool) {
        self.has_whole_context.store(is_whole, Ordering::Relaxed);
    }

    /// Returns `true` if the prompt is known to contain the whole conversation.
    pub(crate) fn has_whole_context(&self) -> bool {
        self.has_whole_context.load(Ordering::Relaxed)
    }

    /// Returns the totals of this run of the turn so far.
    pub(crate) fn totals(&self) -> Totals {
        *self.totals.lock()
    }

    /// Returns `true` if a model call is not stored yet.
    pub(crate) fn has_model_calls(&self) -> bool {
        !self.model_calls.lock().is_empty()
    }

    /// Keeps the result of a tool call until [`Self::settle`] has stored it.
    pub(crate) fn add_ended_call(&self, id: ToolCallId, end: EndedToolCall) {
        self.totals.lock().calls += 1;
        self.ended_calls.lock().push((id, end));
    }

    /// Stores the results of ended tool calls, and then sends their events. Returns `None` if the turn no longer
    /// belongs to this process. Only the turn's own task may call this, because no other event may take the sequence
    /// numbers of these events.
    pub(crate) async fn settle(&self) -> sqlx::Result<Option<()>> {
        let calls = self.ended_calls.lock().clone();
        if calls.is_empty() {
            return Ok(Some(()));
        }
        let Some(mut write) = self.begin().await? else { return Ok(None) };
        let events: Vec<_> = calls.iter().map(|(id, end)| end_event(*id, end)).collect();
        // If an earlier commit was not confirmed, these rows may have ended already. Then this changes nothing.
        for (id, end) in &calls {
            tool_calls::end_tool_call(&mut write.tx, *id, end).await?;
        }
        let encoded = events.iter().map(EncodedEvent::of).collect::<sqlx::Result<Vec<_>>>()?;
        write.commit(&encoded).await?;
        self.ended_calls.lock().drain(..calls.len());
        for (event, encoded) in events.into_iter().zip(encoded) {
            self.log.append_encoded(event, encoded, now());
        }
        Ok(Some(()))
    }

    /// Makes the unstored calls smaller after the database rejected a write: drops the models' answers, and truncates
    /// the tools' outputs and errors. Returns `false` if the calls are small already.
    pub(crate) fn shrink_calls(&self) -> bool {
        let (mut asked, mut ended) = (self.model_calls.lock(), self.ended_calls.lock());
        let mut is_smaller = false;
        for call in asked.iter_mut().filter(|call| call.blocks != NO_BLOCKS) {
            let call = Arc::make_mut(call);
            NO_BLOCKS.clone_into(&mut call.blocks);
            call.error.get_or_insert_with(|| "storage_rejected: the database rejected the answer".to_owned());
            is_smaller = true;
        }
        let texts = ended.iter_mut().flat_map(|(_, end)| [&mut end.output, &mut end.error]).flatten();
        for text in texts.filter(|text| text.len() > MAX_FALLBACK_END_BYTES) {
            text.truncate(text.floor_char_boundary(MAX_FALLBACK_END_BYTES));
            is_smaller = true;
        }
        is_smaller
    }

    /// Drops the unstored calls. Returns `false` if there are none.
    pub(crate) fn drop_calls(&self) -> bool {
        let (mut asked, mut ended) = (self.model_calls.lock(), self.ended_calls.lock());
        let had_some = !(asked.is_empty() && ended.is_empty());
        asked.clear();
        ended.clear();
        had_some
    }

    /// Removes the answer's text from byte offset `text_bytes` on, and applies `events`. Stores the resulting message
    /// as a snapshot, and sends it to the subscribers. Returns `None` in the same cases as [`Self::begin`].
    pub(crate) async fn take_back_text(&self, text_bytes: usize, events: &[ChatEvent]) -> sqlx::Result<Option<()>> {
        let Some(write) = self.begin().await? else { return Ok(None) };
        let snapshot = self.log.snapshot_with_text_taken_back(text_bytes, events);
        let encoded = EncodedEvent::of(&snapshot)?;
        let append = || {
            self.log.append_encoded(snapshot, encoded.clone(), now());
            self.log.all_text()
        };
        write.commit_and(slice::from_ref(&encoded), append).await.map(Some)
    }

    /// Stores the unstored text, reasoning and model calls.
    pub(crate) async fn store(&self) -> sqlx::Result<()> {
        match self.begin().await? {
            Some(write) => write.commit(&[]).await,
            // `turn::lease` notices a lost lease.
            None => Ok(()),
        }
    }

    /// Returns `true` if the next write has something to store.
    pub(crate) fn has_unstored(&self) -> bool {
        // While another write holds the lock, text does not count; group commit checks again at the next interval.
        self.stored.try_lock().is_ok_and(|stored| *stored != Some(self.log.all_text())) || self.has_model_calls()
    }

    /// Returns the unstored text and reasoning, for a transaction that covers several turns. No other write to this
    /// turn can begin while the result is held. Returns `None` if a write is in progress, or if the caller must use
    /// [`Self::store`]: model calls are unstored, or the stored position is unknown.
    pub(crate) fn unstored_text(&self) -> Option<UnstoredText<'_>> {
        let stored = self.stored.try_lock().ok()?;
        let (events, will_be_stored) = self.log.unstored((*stored)?);
        (!self.has_model_calls()).then_some(UnstoredText { writer: self, stored, events, will_be_stored })
    }

    fn encoded(&self, events: &[(i64, ChatEvent)]) -> sqlx::Result<Vec<(EventId, EncodedEvent)>> {
        events.iter().map(|(seq, event)| Ok((self.id(*seq), EncodedEvent::of(event)?))).collect()
    }

    /// Returns the ID of the turn's answer, and the turn's epoch.
    pub(crate) fn turn(&self) -> (MessageId, i32) {
        (self.rows.assistant_message_id, self.rows.epoch)
    }

    fn id(&self, seq: i64) -> EventId {
        EventId { message_id: self.rows.assistant_message_id, epoch: self.rows.epoch, seq }
    }
}

/// Text and reasoning of a turn that are about to be stored.
pub(crate) struct UnstoredText<'a> {
    writer: &'a TurnWriter,
    stored: MutexGuard<'a, Option<Stored>>,
    events: Vec<(i64, ChatEvent)>,
    will_be_stored: Stored,
}

impl UnstoredText<'_> {
    pub(crate) fn turn(&self) -> (MessageId, i32) {
        self.writer.turn()
    }

    pub(crate) fn events(&self) -> sqlx::Result<Vec<(EventId, EncodedEvent)>> {
        self.writer.encoded(&self.events)
    }

    /// Marks the stored position as unknown, right before the commit. [`Self::end_commit`] sets it after the commit.
    pub(crate) fn begin_commit(&mut self) {
        *self.stored = None;
    }

    /// Sets the stored position after the commit succeeded.
    pub(crate) fn end_commit(&mut self) {
        *self.stored = Some(self.will_be_stored);
    }
}

impl Write<'_> {
    /// Commits, and stores `events` under the consecutive sequence numbers that they will be sent with.
    pub(crate) async fn commit(self, events: &[EncodedEvent]) -> sqlx::Result<()> {
        let will_be_stored = self.will_be_stored;
        self.commit_and(events, || will_be_stored).await
    }

    /// Commits, and then calls `then`, which returns the new stored position. No other write begins before that.
    async fn commit_and(mut self, events: &[EncodedEvent], then: impl FnOnce() -> Stored) -> sqlx::Result<()> {
        let writer = self.writer;
        let numbered = (writer.log.next_seq()..).map(|seq| writer.id(seq)).zip(events);
        let texts = self.texts.iter().map(|(id, event)| (*id, event));
        let events: Vec<(EventId, &EncodedEvent)> = texts.chain(numbered).collect();
        stored::create_events(&mut self.tx, &events).await?;
        self.tx.commit().await?;
        *self.stored = Some(then());
        let mut model_calls = writer.model_calls.lock();
        // The queue may have been emptied in the meantime (`drop_calls`).
        let stored = self.model_calls.min(model_calls.len());
        model_calls.drain(..stored);
        Ok(())
    }
}

/// Converts a byte offset in the answer's text, or a count, to the integer type of the API.
pub(crate) fn wire_offset(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// Returns the event for a call that is stored and about to run.
pub(crate) fn start_event(
    id: ToolCallId,
    call: &StartedToolCall<'_>,
    offset: i64,
    started_at: DateTime<Utc>,
) -> ChatEvent {
    let payload = tool_call_payload(id, call, offset, started_at);
    ChatEvent::ToolCallStart(ToolCallStart {
        tool_call_id: id,
        tool_name: payload.tool_name,
        input: payload.input,
        input_bytes: payload.input_bytes,
        truncated: payload.truncated,
        offset,
    })
}

/// Returns the events for a call that is stored as waiting for approval: the request, the reviewers' votes, and their
/// decision if they made one. If the reviewers refused the call, the last event is the call's end.
pub(crate) fn asked_events(
    id: ToolCallId,
    call: &StartedToolCall<'_>,
    tool: &ToolSpec,
    (offset, at): (i64, DateTime<Utc>),
    review: &Review,
) -> Vec<ChatEvent> {
    let payload = tool_call_payload(id, call, offset, at);
    let reviews: Vec<ToolCallReview> = review.votes.iter().map(|vote| review_payload(id, vote)).collect();
    let mut events = vec![ChatEvent::ApprovalRequested(ApprovalRequested {
        tool_call_id: id,
        tool_name: payload.tool_name,
        input: payload.input,
        input_bytes: payload.input_bytes,
        truncated: payload.truncated,
        offset,
        risk: tool.risk.as_str().to_owned(),
        reviews: reviews.clone(),
    })];
    events.extend(reviews.into_iter().map(ChatEvent::ToolCallReview));
    let Some(outcome) = &review.outcome else { return events };
    let decision = Decider::Review.decides(outcome.decision, at);
    events.push(ChatEvent::ApprovalDecided(decided_event(id, decision, Some(outcome.reason.clone()), None)));
    if outcome.decision == Decision::Deny {
        events.push(end_event(id, &refused(outcome)));
    }
    events
}

fn review_payload(tool_call_id: ToolCallId, vote: &Vote) -> ToolCallReview {
    let Vote { model, verdict, reason, duration_ms, .. } = vote.clone();
    ToolCallReview { tool_call_id, model, verdict, reason, duration_ms }
}

/// Returns the end of a call that the reviewers refused.
fn refused(outcome: &ReviewDecision) -> EndedToolCall {
    EndedToolCall {
        status: ToolCallStatus::Denied,
        output: None,
        error: Some(outcome.refusal()),
        error_type: Some(DENIED_TYPE.to_owned()),
        duration_ms: 0,
        files: Vec::new(),
    }
}

/// Returns a call in the form that events carry, with truncated arguments.
fn tool_call_payload(id: ToolCallId, call: &StartedToolCall<'_>, offset: i64, started_at: DateTime<Utc>) -> ToolCall {
    let mut payload = ToolCall {
        tool_call_id: id,
        tool_name: call.request.name.clone(),
        input: RawJson::from_text(&call.request.input_text),
        input_bytes: None,
        proposed_input: None,
        offset,
        status: ToolCallStatus::Pending,
        output: None,
        output_bytes: None,
        error: None,
        error_type: None,
        truncated: false,
        duration_ms: None,
        started_at,
        reviews: Vec::new(),
        decision: None,
        files: Vec::new(),
    };
    CallsBudget::default().fit(&mut payload);
    payload
}

/// Returns the event for the end of a call.
pub(crate) fn end_event(id: ToolCallId, end: &EndedToolCall) -> ChatEvent {
    let mut event = ToolCallEnd {
        tool_call_id: id,
        output: end.output.clone(),
        output_bytes: None,
        error: end.error.clone(),
        error_type: end.error_type.as_deref().map(|word| stored_error_type(word).to_owned()),
        truncated: false,
        status: end.status,
        duration_ms: end.duration_ms,
        files: end.files.iter().map(|file| file.file.clone()).collect(),
    };
    CallsBudget::default().fit_end(&mut event);
    ChatEvent::ToolCallEnd(event)
}
