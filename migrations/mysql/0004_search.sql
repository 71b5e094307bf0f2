-- Searching goes through what was written in the order of time, a stretch after the other.

SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.STATISTICS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'messages' AND INDEX_NAME = 'messages_by_time');

SET @change = IF(@is_missing, 'ALTER TABLE messages
    ADD KEY messages_by_time (created_at, id),
    ADD KEY messages_of_conversation (conversation_id, created_at, id)', 'DO 0');

PREPARE change_messages FROM @change;

EXECUTE change_messages;

DEALLOCATE PREPARE change_messages;

SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.STATISTICS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'conversations' AND INDEX_NAME = 'conversations_by_time');

SET @change = IF(@is_missing, 'ALTER TABLE conversations
    ADD KEY conversations_by_time (user_id, created_at, id)', 'DO 0');

PREPARE change_conversations FROM @change;

EXECUTE change_conversations;

DEALLOCATE PREPARE change_conversations;
