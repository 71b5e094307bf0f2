-- What a user wants at hand, and what is put away. The indexes are for the lists of each.

ALTER TABLE conversations ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1));
ALTER TABLE conversations ADD COLUMN archived INTEGER NOT NULL DEFAULT 0 CHECK (archived IN (0, 1));

CREATE INDEX conversations_pins ON conversations (user_id, pinned, updated_at, id);
CREATE INDEX conversations_archive ON conversations (user_id, archived, updated_at, id);
