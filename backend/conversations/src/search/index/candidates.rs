//! Finds the messages that can match a search: those whose pieces are in the index, and those that are not indexed.

use std::collections::{BTreeSet, HashMap};

use chrono::{DateTime, Utc};
use tallybook_accounts::UserId;
use tallybook_database::Database;
use tallybook_protocol::MessageId;

use crate::{
    search::index::{
        block::{Matches, Range},
        pieces::terms,
    },
    store::{
        ConversationId,
        search_index::{self, BlockRow},
    },
};

/// Maximum number of messages that are not indexed, and of conversations with such messages. If a user has more, the
/// index saves little.
const MAX_UNINDEXED: usize = 10_000;
const MAX_CONVERSATIONS: u32 = 5000;

/// Maximum number of attempts to read which blocks there are, while blocks are added or deleted.
const MAX_ATTEMPTS: usize = 3;

/// Number of blocks that are read first. Each further read takes twice as many, up to the maximum.
const FIRST_BLOCKS: usize = 2;
const MAX_BLOCKS: usize = 64;

/// Maximum number of candidates in a batch, not counting those with the time of its cursor.
const MAX_CANDIDATES: usize = 1000;

/// Candidates of a search in a user's conversations, newest first.
pub(crate) struct Candidates {
    terms: Vec<Vec<usize>>,
    /// Blocks that were not read yet, by the times of their newest messages.
    blocks: Vec<BlockRow>,
    /// Candidates that were found and are not compared yet.
    found: BTreeSet<(DateTime<Utc>, MessageId)>,
    /// Number of blocks to read next.
    next_blocks: usize,
}

/// A batch of candidates.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    /// `None` for all messages.
    pub(crate) messages: Option<Vec<MessageId>>,
    /// Time at which the batch ends; messages with that time are not in the batch.
    pub(crate) until: Option<DateTime<Utc>>,
}

impl Candidates {
    /// Prepares a search for `words`. Returns `None` if the index cannot help: the words are too short, too many
    /// messages are not indexed, or the index is changing.
    pub(crate) async fn load(db: &Database, user: UserId, words: &[String]) -> sqlx::Result<Option<Self>> {
        let terms = terms(words);
        if terms.is_empty() {
            return Ok(None);
        }
        // A message that moves to a block between two reads is in the second list of blocks.
        let mut blocks = search_index::list_blocks(db, user).await?;
        for _ in 0..MAX_ATTEMPTS {
            let list = search_index::list_unindexed_conversations(db, user, ConversationId(0), MAX_CONVERSATIONS);
            let conversations = list.await?;
            let found = search_index::list_unindexed(db, &conversations, MAX_UNINDEXED + 1).await?;
            if conversations.len() == MAX_CONVERSATIONS as usize || found.len() > MAX_UNINDEXED {
                return Ok(None);
            }
            let now = search_index::list_blocks(db, user).await?;
            if now == blocks {
                let found = found.into_iter().collect();
                return Ok(Some(Self { terms, blocks, found, next_blocks: FIRST_BLOCKS }));
            }
            blocks = now;
        }
        Ok(None)
    }

    /// Returns the candidates at `time` and the newest of those before it, at most `count` of these. Also returns the
    /// candidates of later batches. If a block was deleted meanwhile, returns all messages.
    pub(crate) async fn take_batch(
        mut self,
        db: &Database,
        time: DateTime<Utc>,
        count: usize,
    ) -> sqlx::Result<(Selection, Option<Self>)> {
        let count = count.min(MAX_CANDIDATES);
        // Those after `time` were compared before.
        self.found.retain(|(at, _)| *at <= time);
        self.blocks.retain(|block| block.oldest_at <= time);
        loop {
            // The blocks that were not read yet can have older messages only.
            let horizon = self.blocks.last().map(|block| block.newest_at);
            let is_ready = |at: DateTime<Utc>| at < time && horizon.is_none_or(|horizon| at > horizon);
            let until = self.found.iter().rev().map(|(at, _)| *at).filter(|at| is_ready(*at)).nth(count);
            if until.is_none() && !self.blocks.is_empty() {
                if !self.read_blocks(db, time).await? {
                    return Ok((Selection::default(), None));
                }
                continue;
            }
            let is_in_batch = |(at, _): &&(DateTime<Utc>, MessageId)| until.is_none_or(|until| *at > until);
            let messages: Vec<MessageId> = self.found.iter().filter(is_in_batch).map(|(_, id)| *id).collect();
            // Very many messages can have the same time.
            let is_short = messages.len() <= 2 * MAX_CANDIDATES;
            return Ok((Selection { messages: is_short.then_some(messages), until }, Some(self)));
        }
    }

    /// Reads the next blocks. Returns `false` if one of them was deleted meanwhile.
    async fn read_blocks(&mut self, db: &Database, time: DateTime<Utc>) -> sqlx::Result<bool> {
        let blocks = self.blocks.split_off(self.blocks.len().saturating_sub(self.next_blocks));
        self.next_blocks = MAX_BLOCKS.min(self.next_blocks * 2);
        let slots: BTreeSet<i32> = self.terms.iter().flatten().filter_map(|slot| i32::try_from(*slot).ok()).collect();
        let slots: Vec<i32> = slots.into_iter().collect();
        let rows = search_index::list_bits(db, &blocks, &slots).await?;
        let bits: HashMap<(i64, i32), Vec<u8>> =
            rows.into_iter().map(|(block, slot, bits)| ((block, slot), bits)).collect();
        let mut possible = HashMap::new();
        for block in blocks {
            let bits_of = |slot| bits.get(&(block.id, i32::try_from(slot).ok()?)).map(Vec::as_slice);
            let Some(matches) = Matches::find(&self.terms, bits_of) else { return Ok(false) };
            if matches.is_possible() {
                possible.insert(block.id, matches);
            }
        }
        let ids: Vec<i64> = possible.keys().copied().collect();
        let ranges = search_index::list_ranges(db, &ids).await?;
        for (block, ranges) in &ranges {
            let Some(matches) = possible.get(block) else { continue };
            let can_match = Range::decode(ranges).filter(|range| range.at <= time && matches.contain(range));
            self.found.extend(can_match.map(|range| (range.at, range.message)));
        }
        Ok(ranges.len() == possible.len())
    }
}
