-- Conversations that are shared: a copy of each as it was, which its link shows to whoever has that.

CREATE TABLE shares (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation_id INTEGER NOT NULL,
    -- The random part of the link. It is kept as it is, since who reads this row has what it leads to.
    token TEXT NOT NULL,
    title TEXT NOT NULL,
    has_tool_calls INTEGER NOT NULL,
    -- The messages as JSON, as the API has them.
    messages TEXT NOT NULL,
    created_at TEXT NOT NULL,
    FOREIGN KEY (conversation_id) REFERENCES conversations (id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX shares_token ON shares (token);
CREATE INDEX shares_conversation ON shares (conversation_id);
