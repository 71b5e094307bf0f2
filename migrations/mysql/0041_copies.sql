-- Messages that were copied to another conversation. The calls of a copied answer are in tables of their own: they ran
-- in the original, so that each call is counted once.

-- ID of the message that this one is a copy of. Refers to no row, because the copy outlasts the original.
SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'messages' AND COLUMN_NAME = 'copied_from');

SET @change = IF(@is_missing, 'ALTER TABLE messages ADD COLUMN copied_from BIGINT NULL', 'DO 0');

PREPARE change_messages_copied FROM @change;

EXECUTE change_messages_copied;

DEALLOCATE PREPARE change_messages_copied;

CREATE TABLE IF NOT EXISTS copied_tool_calls (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    message_id BIGINT NOT NULL,
    -- ID of the call that ran, in tool_calls. Refers to no row, because the copy outlasts the original.
    original_id BIGINT NULL,
    -- The other columns are those of tool_calls.
    tool_call_id VARCHAR(255) NOT NULL,
    tool_name VARCHAR(100) NOT NULL,
    input_text LONGTEXT NOT NULL,
    proposed_input_text LONGTEXT NULL,
    output LONGTEXT NULL,
    error TEXT NULL,
    error_type VARCHAR(64) NULL,
    status VARCHAR(20) NOT NULL,
    step INT NOT NULL,
    position INT NOT NULL,
    text_offset BIGINT NOT NULL,
    started_at DATETIME(6) NOT NULL,
    duration_ms BIGINT NULL,
    UNIQUE KEY copied_tool_calls_place (message_id, step, position),
    CONSTRAINT copied_tool_calls_message_fk FOREIGN KEY (message_id) REFERENCES messages (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- The model's part of the steps of a copied answer, for later prompts. The columns are those of model_calls.
CREATE TABLE IF NOT EXISTS copied_model_calls (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    message_id BIGINT NOT NULL,
    step INT NOT NULL,
    provider VARCHAR(64) NOT NULL,
    model VARCHAR(190) NOT NULL,
    stop_reason VARCHAR(64) NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    error TEXT NULL,
    blocks LONGTEXT NOT NULL,
    UNIQUE KEY copied_model_calls_step (message_id, step),
    CONSTRAINT copied_model_calls_message_fk FOREIGN KEY (message_id) REFERENCES messages (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- The copied call that returned the file; null for a file that a user attached.
SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'message_files' AND COLUMN_NAME = 'copied_call_id');

SET @change = IF(@is_missing, 'ALTER TABLE message_files ADD COLUMN copied_call_id BIGINT NULL', 'DO 0');

PREPARE change_message_files_copied FROM @change;

EXECUTE change_message_files_copied;

DEALLOCATE PREPARE change_message_files_copied;
