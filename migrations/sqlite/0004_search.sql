-- Searching goes through what was written in the order of time, a stretch after the other.

CREATE INDEX messages_by_time ON messages (created_at, id);
CREATE INDEX messages_of_conversation ON messages (conversation_id, created_at, id);
CREATE INDEX conversations_by_time ON conversations (user_id, created_at, id);
