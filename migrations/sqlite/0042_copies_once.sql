-- A request for a copy that is sent twice creates one copy, and a truncated text of a copied call stays marked.

-- The ID that a client chose for the copy.
ALTER TABLE conversations ADD COLUMN client_conversation_id TEXT NULL;
CREATE UNIQUE INDEX conversations_client_id ON conversations (user_id, client_conversation_id);

-- For calls whose texts the share link truncated; the lengths are those of the full texts.
ALTER TABLE copied_tool_calls ADD COLUMN truncated BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE copied_tool_calls ADD COLUMN input_bytes INTEGER NULL;
ALTER TABLE copied_tool_calls ADD COLUMN output_bytes INTEGER NULL;
