//! Index of the search. It consists of blocks of a user's messages, so that a search reads a few rows of each block
//! instead of all texts. A block is a table of bits: its columns are texts of about a kilobyte, its rows are slots, and
//! a bit says that a piece of the text hashes to the slot (`pieces`, `block`). A message is a candidate if each word
//! has all its slots in one of the message's columns. The search compares only the texts of candidates.
//!
//! A block is never changed. A background task (`fill`) adds one when a user has enough messages for it, and replaces
//! many small blocks by a large one. Messages in no block are candidates, too (`candidates`). A message counts as
//! indexed under its epoch only, so a turn that resumes makes it unindexed without a write. A conversation's purge
//! deletes its blocks.

pub(crate) mod block;
pub(super) mod candidates;
pub(crate) mod fill;
mod pieces;
