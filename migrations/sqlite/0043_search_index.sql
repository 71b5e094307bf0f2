-- Index of the texts of messages and of their tool calls, for the search. It only narrows a search down to messages that
-- can match, so it may name too many of them.

-- `updated_at` of the moment when all messages of the conversation were in the index. If the two differ, some may not be.
ALTER TABLE conversations ADD COLUMN search_indexed_at TEXT NULL;

-- A block has messages of one user. Their texts are cut into columns, and a column can have several short texts.
CREATE TABLE search_blocks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- Size of its texts.
    bytes INTEGER NOT NULL,
    -- Times of its oldest and its newest message.
    oldest_at TEXT NOT NULL,
    newest_at TEXT NOT NULL,
    -- For each message, little-endian: ID (8 bytes), time in microseconds (8), first column (4), last column (4).
    messages BLOB NOT NULL
);
CREATE INDEX search_blocks_user ON search_blocks (user_id, newest_at);

-- The block of each message. If a turn was resumed after its message was indexed, the message has a later epoch, and the
-- block contains a former text.
CREATE TABLE search_messages (
    message_id INTEGER NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
    epoch INTEGER NOT NULL,
    block_id INTEGER NOT NULL REFERENCES search_blocks (id) ON DELETE CASCADE,
    PRIMARY KEY (message_id, epoch)
) WITHOUT ROWID;
CREATE INDEX search_messages_block ON search_messages (block_id);

-- For each slot, one bit per column: whether a piece of the column's text (up to three characters) hashes to this slot.
-- In a table without row IDs, rows of more than a quarter of a page would need a page of their own.
CREATE TABLE search_bits (
    block_id INTEGER NOT NULL REFERENCES search_blocks (id) ON DELETE CASCADE,
    slot INTEGER NOT NULL,
    bits BLOB NOT NULL,
    PRIMARY KEY (block_id, slot)
);
