-- What a user wants at hand, and what is put away. The keys are for the lists of each.

SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'conversations' AND COLUMN_NAME = 'pinned');

SET @change = IF(@is_missing, 'ALTER TABLE conversations
    ADD COLUMN pinned BOOLEAN NOT NULL DEFAULT FALSE,
    ADD COLUMN archived BOOLEAN NOT NULL DEFAULT FALSE,
    ADD KEY conversations_pins (user_id, pinned, updated_at, id),
    ADD KEY conversations_archive (user_id, archived, updated_at, id)', 'DO 0');

PREPARE change_conversations FROM @change;

EXECUTE change_conversations;

DEALLOCATE PREPARE change_conversations;
