-- Programs that use the agent as a model: where a conversation comes from, which one a program means by an id of its own,
-- and what it told a turn in place of the stored history.

ALTER TABLE conversations ADD COLUMN origin TEXT NOT NULL DEFAULT 'page'
    CHECK (origin IN ('page', 'api'));

CREATE TABLE program_conversations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id INTEGER NOT NULL,
    -- The key that the program showed; 0 where it showed none.
    key_id INTEGER NOT NULL,
    -- What the program calls it.
    chat_id TEXT NOT NULL,
    conversation_id INTEGER NOT NULL,
    FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE,
    FOREIGN KEY (conversation_id) REFERENCES conversations (id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX program_conversations_chat ON program_conversations (user_id, key_id, chat_id);
CREATE INDEX program_conversations_conversation ON program_conversations (conversation_id);

-- Kept until the turn is complete, so that one that goes on is told the same.
CREATE TABLE turn_inputs (
    message_id INTEGER NOT NULL PRIMARY KEY,
    -- JSON: the messages, the system texts, and how to write.
    input TEXT NOT NULL,
    FOREIGN KEY (message_id) REFERENCES messages (id) ON DELETE CASCADE
);
