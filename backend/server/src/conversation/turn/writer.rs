//! A turn's way into the database. Every write first makes sure that the turn is still this process's own, and takes along
//! the words, and the calls of models, that are not yet stored. Results of tool calls are kept here, too, until they are.

use std::{collections::VecDeque, slice, sync::Arc};
use tallybook_database::{Database, Transaction, now};

use tallybook_agent::{EndedToolCall, ModelCallRecord, Purpose};
use tallybook_protocol::{ChatEvent, MessageId, ToolCallId, Usage};
use tokio::sync::{Mutex, MutexGuard};

use super::{
    super::{
        limits::MAX_FALLBACK_END_BYTES,
        store::{
            model_calls, tool_calls,
            turns::{self, TurnRows},
        },
    },
    call_events::end_event,
};
use crate::journal::{
    EventId, Stored, TurnLog, lock,
    stored::{self, EncodedEvent},
};

/// Writes one turn.
pub(super) struct TurnWriter {
    db: Database,
    log: Arc<TurnLog>,
    rows: TurnRows,
    /// How much of the words is stored; unknown after a write of which nobody heard whether it was committed. Held during
    /// a write, so that nothing is stored twice.
    stored: Mutex<Option<Stored>>,
    /// Calls of models that are over and not yet stored.
    model_calls: UnstoredCalls,
    /// Results of tool calls that are not stored yet, in the order in which the calls ended.
    ended_calls: std::sync::Mutex<Vec<(ToolCallId, EndedToolCall)>>,
    totals: std::sync::Mutex<Totals>,
}

/// Totals of this run of the turn, for the log.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    /// Steps of the answer.
    pub(super) steps: u32,
    /// Tool calls that ended.
    pub(super) calls: u32,
    /// Tokens of all model calls.
    pub(super) usage: Usage,
}

/// The `blocks` of a model call that said nothing.
const NO_BLOCKS: &str = "[]";

/// What the next write takes along.
type UnstoredCalls = std::sync::Mutex<VecDeque<Arc<ModelCallRecord>>>;

/// A transaction that has stored the turn's words so far. Nothing lasts before [`Write::commit`].
pub(super) struct Write<'a> {
    pub(super) tx: Transaction,
    stored: MutexGuard<'a, Option<Stored>>,
    will_be_stored: Stored,
    /// What is not forgotten before the commit, and how much of it is stored then.
    model_calls: (&'a UnstoredCalls, usize),
}

impl TurnWriter {
    pub(super) fn new(db: Database, log: Arc<TurnLog>, rows: TurnRows) -> Self {
        // What a turn that goes on had written before is stored already.
        let stored = Mutex::new(Some(log.all_words()));
        Self {
            db,
            log,
            rows,
            stored,
            model_calls: UnstoredCalls::default(),
            ended_calls: std::sync::Mutex::default(),
            totals: std::sync::Mutex::default(),
        }
    }

    /// Where it writes.
    pub(super) fn db(&self) -> &Database {
        &self.db
    }

    /// The turn that it writes.
    pub(super) fn rows(&self) -> TurnRows {
        self.rows
    }

    /// The record that it stores.
    pub(super) fn log(&self) -> &TurnLog {
        &self.log
    }

    /// Begins a write. `None` when the turn has been ended by somebody else, or is gone: then nothing more may happen in it.
    pub(super) async fn begin(&self) -> sqlx::Result<Option<Write<'_>>> {
        let mut stored = self.stored.lock().await;
        let mut tx = self.db.begin().await?;
        if !turns::lock_turns(&mut tx, &[self.turn()]).await? {
            return Ok(None);
        }
        // Unknown from here to the end of the commit.
        let (message_id, epoch) = self.turn();
        let (is_stored, stored_steps) = if let Some(stored) = stored.take() {
            (stored, Vec::new())
        } else {
            let (is_stored, last_seq) = stored::find_stored(&mut tx, message_id, epoch).await?;
            self.log.skip_to(last_seq.map_or(0, |seq| seq + 1));
            (is_stored, model_calls::list_steps(&mut tx, message_id).await?)
        };
        let (events, will_be_stored) = self.log.unstored(is_stored);
        stored::create_events(&mut tx, &self.encoded(&events)?).await?;
        let calls: Vec<_> = lock(&self.model_calls).iter().map(Arc::clone).collect();
        for call in &calls {
            let is_stored = call.purpose == Purpose::Answer && stored_steps.contains(&i64::from(call.step));
            if !is_stored {
                model_calls::create_model_call(&mut tx, message_id, call).await?;
            }
        }
        Ok(Some(Write { tx, stored, will_be_stored, model_calls: (&self.model_calls, calls.len()) }))
    }

    /// Has the next write store that a model was called: what its answer asked for begins with one, and so does the turn's end.
    pub(super) fn add_model_call(&self, call: ModelCallRecord) {
        let mut totals = lock(&self.totals);
        totals.steps += u32::from(call.purpose == Purpose::Answer);
        totals.usage += call.usage;
        drop(totals);
        lock(&self.model_calls).push_back(Arc::new(call));
    }

    /// Returns what this run of the turn has done so far.
    pub(super) fn totals(&self) -> Totals {
        *lock(&self.totals)
    }

    /// Whether there is a call of a model that is not stored.
    pub(super) fn has_model_calls(&self) -> bool {
        !lock(&self.model_calls).is_empty()
    }

    /// Keeps the result of a tool call until [`Self::settle`] has stored it.
    pub(super) fn add_ended_call(&self, id: ToolCallId, end: EndedToolCall) {
        lock(&self.totals).calls += 1;
        lock(&self.ended_calls).push((id, end));
    }

    /// Stores the results of ended tool calls, and then sends their events. Returns `None` if the turn no longer belongs to this
    /// process. Only the turn's own task may call this: no other event may take the numbers of these.
    pub(super) async fn settle(&self) -> sqlx::Result<Option<()>> {
        let calls = lock(&self.ended_calls).clone();
        if calls.is_empty() {
            return Ok(Some(()));
        }
        let Some(mut write) = self.begin().await? else { return Ok(None) };
        let events: Vec<_> = calls.iter().map(|(id, end)| end_event(*id, end)).collect();
        // If the answer to an earlier commit was lost, these rows may have ended already. Then this changes nothing.
        for (id, end) in &calls {
            tool_calls::end_tool_call(&mut write.tx, *id, end).await?;
        }
        let encoded = events.iter().map(EncodedEvent::of).collect::<sqlx::Result<Vec<_>>>()?;
        self.create_next_events(&mut write.tx, &encoded).await?;
        write.commit().await?;
        lock(&self.ended_calls).drain(..calls.len());
        for (event, encoded) in events.into_iter().zip(encoded) {
            self.log.append_encoded(event, encoded, now());
        }
        Ok(Some(()))
    }

    /// Makes the unstored calls smaller after the database rejected a write: without the models' answers, and with the beginnings
    /// of the tools' outputs. Returns `false` if they are small already.
    pub(super) fn shrink_calls(&self) -> bool {
        let (mut asked, mut ended) = (lock(&self.model_calls), lock(&self.ended_calls));
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
    pub(super) fn drop_calls(&self) -> bool {
        let (mut asked, mut ended) = (lock(&self.model_calls), lock(&self.ended_calls));
        let had_some = !(asked.is_empty() && ended.is_empty());
        asked.clear();
        ended.clear();
        had_some
    }

    /// Takes back the answer's text from a place on, and tells these events in its place. `None` as for [`Self::begin`].
    pub(super) async fn take_back_text(&self, text_bytes: usize, events: &[ChatEvent]) -> sqlx::Result<Option<()>> {
        let Some(mut write) = self.begin().await? else { return Ok(None) };
        let snapshot = self.log.snapshot_with_text_taken_back(text_bytes, events);
        let encoded = EncodedEvent::of(&snapshot)?;
        self.create_next_event(&mut write.tx, &encoded).await?;
        let append = || {
            self.log.append_encoded(snapshot, encoded, now());
            self.log.all_words()
        };
        write.commit_and(append).await.map(Some)
    }

    /// Stores what there is to be stored.
    pub(super) async fn store(&self) -> sqlx::Result<()> {
        match self.begin().await? {
            Some(write) => write.commit().await,
            // The lease is looked after elsewhere.
            None => Ok(()),
        }
    }

    /// Whether there is something that the next write would take along.
    pub(super) fn has_unstored(&self) -> bool {
        // While somebody writes there may be.
        self.stored.try_lock().is_ok_and(|stored| *stored != Some(self.log.all_words())) || self.has_model_calls()
    }

    /// The words that are to be stored, for who stores those of several turns at once, while nobody else may write in this one.
    /// `None` where something else is to be done, too, so that [`Self::store`] must be called, or somebody writes just now.
    pub(super) fn unstored_words(&self) -> Option<UnstoredWords<'_>> {
        let stored = self.stored.try_lock().ok()?;
        let (events, will_be_stored) = self.log.unstored((*stored)?);
        (!self.has_model_calls()).then_some(UnstoredWords { writer: self, stored, events, will_be_stored })
    }

    fn encoded(&self, events: &[(i64, ChatEvent)]) -> sqlx::Result<Vec<(EventId, EncodedEvent)>> {
        events.iter().map(|(seq, event)| Ok((self.id(*seq), EncodedEvent::of(event)?))).collect()
    }

    /// Its answer and its epoch.
    pub(super) fn turn(&self) -> (MessageId, i32) {
        (self.rows.assistant_message_id, self.rows.epoch)
    }

    fn id(&self, seq: i64) -> EventId {
        EventId { message_id: self.rows.assistant_message_id, epoch: self.rows.epoch, seq }
    }

    /// Stores an event under the number that it is about to be sent with.
    pub(super) async fn create_next_event(&self, tx: &mut Transaction, event: &EncodedEvent) -> sqlx::Result<()> {
        self.create_next_events(tx, slice::from_ref(event)).await
    }

    /// The same with several that are about to be sent one after another.
    pub(super) async fn create_next_events(&self, tx: &mut Transaction, events: &[EncodedEvent]) -> sqlx::Result<()> {
        let events: Vec<_> = (self.log.next_seq()..).map(|seq| self.id(seq)).zip(events).collect();
        stored::create_events(tx, &events).await
    }
}

/// Words of a turn that are about to be stored.
pub(super) struct UnstoredWords<'a> {
    writer: &'a TurnWriter,
    stored: MutexGuard<'a, Option<Stored>>,
    events: Vec<(i64, ChatEvent)>,
    will_be_stored: Stored,
}

impl UnstoredWords<'_> {
    pub(super) fn turn(&self) -> (MessageId, i32) {
        self.writer.turn()
    }

    pub(super) fn events(&self) -> sqlx::Result<Vec<(EventId, EncodedEvent)>> {
        self.writer.encoded(&self.events)
    }

    /// They are written. Until [`Self::end_commit`] it is unknown whether they last.
    pub(super) fn begin_commit(&mut self) {
        *self.stored = None;
    }

    /// The commit is through.
    pub(super) fn end_commit(&mut self) {
        *self.stored = Some(self.will_be_stored);
    }
}

impl Write<'_> {
    pub(super) async fn commit(self) -> sqlx::Result<()> {
        let will_be_stored = self.will_be_stored;
        self.commit_and(|| will_be_stored).await
    }

    /// Commits. Nothing else is stored before `then` has said how much is stored now.
    async fn commit_and(mut self, then: impl FnOnce() -> Stored) -> sqlx::Result<()> {
        self.tx.commit().await?;
        *self.stored = Some(then());
        let (model_calls, stored) = self.model_calls;
        let mut model_calls = lock(model_calls);
        // They may have been dropped meanwhile.
        let stored = stored.min(model_calls.len());
        model_calls.drain(..stored);
        Ok(())
    }
}

/// A place in the answer's text as the wire has it.
pub(super) fn wire_offset(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
