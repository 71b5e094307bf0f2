-- Messages that were copied to another conversation. The calls of a copied answer are in tables of their own: they ran
-- in the original, so that each call is counted once.

-- ID of the message that this one is a copy of. Refers to no row, because the copy outlasts the original.
ALTER TABLE messages ADD COLUMN copied_from INTEGER NULL;

CREATE TABLE copied_tool_calls (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    message_id INTEGER NOT NULL,
    -- ID of the call that ran, in tool_calls. Refers to no row, because the copy outlasts the original.
    original_id INTEGER NULL,
    -- The other columns are those of tool_calls.
    tool_call_id TEXT NOT NULL,
    tool_name TEXT NOT NULL,
    input_text TEXT NOT NULL,
    proposed_input_text TEXT NULL,
    output TEXT NULL,
    error TEXT NULL,
    error_type TEXT NULL,
    status TEXT NOT NULL,
    step INTEGER NOT NULL,
    position INTEGER NOT NULL,
    text_offset INTEGER NOT NULL,
    started_at TEXT NOT NULL,
    duration_ms INTEGER NULL,
    FOREIGN KEY (message_id) REFERENCES messages (id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX copied_tool_calls_place ON copied_tool_calls (message_id, step, position);

-- The model's part of the steps of a copied answer, for later prompts. The columns are those of model_calls.
CREATE TABLE copied_model_calls (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    message_id INTEGER NOT NULL,
    step INTEGER NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    stop_reason TEXT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    error TEXT NULL,
    blocks TEXT NOT NULL,
    FOREIGN KEY (message_id) REFERENCES messages (id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX copied_model_calls_step ON copied_model_calls (message_id, step);

-- The copied call that returned the file; null for a file that a user attached.
ALTER TABLE message_files ADD COLUMN copied_call_id INTEGER NULL;
