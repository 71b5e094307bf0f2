-- What models made of conversations so far, and what an answer's model was told in place of the whole.
CREATE TABLE conversation_summaries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation_id INTEGER NOT NULL,
    -- The answer that it covers, with all that was said on the way to it; there is one summary of that.
    message_id INTEGER NOT NULL UNIQUE,
    summary TEXT NOT NULL,
    -- The catalog's name of the model that wrote it.
    model TEXT NOT NULL,
    created_at TEXT NOT NULL,
    FOREIGN KEY (conversation_id) REFERENCES conversations (id) ON DELETE CASCADE,
    FOREIGN KEY (message_id) REFERENCES messages (id) ON DELETE CASCADE
);
CREATE INDEX conversation_summaries_conversation ON conversation_summaries (conversation_id, message_id);

-- The first message that an answer's model was told whole, where it was not told all of them, and the summary that it was told
-- in place of those before.
ALTER TABLE messages ADD COLUMN told_from INTEGER NULL;
ALTER TABLE messages ADD COLUMN summary_id INTEGER NULL;

-- Until when somebody sums the conversation up, who is the only one by then.
ALTER TABLE conversations ADD COLUMN summary_until TEXT NULL;
