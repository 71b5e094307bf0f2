-- How an answer is made, where it is by a plan; and the plans, with how far their steps are.
SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'messages' AND COLUMN_NAME = 'mode');

SET @change = IF(@is_missing, 'ALTER TABLE messages ADD COLUMN mode VARCHAR(16) NULL', 'DO 0');

PREPARE change_messages_mode FROM @change;

EXECUTE change_messages_mode;

DEALLOCATE PREPARE change_messages_mode;

CREATE TABLE IF NOT EXISTS plans (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    -- The answer that it is for.
    message_id BIGINT NOT NULL,
    -- One more each time it was planned anew, and why the last time.
    revision INT NOT NULL,
    reason TEXT NULL,
    success_criteria TEXT NOT NULL,
    -- Bytes of the answer's text before it.
    text_offset BIGINT NOT NULL,
    created_at DATETIME(6) NOT NULL,
    UNIQUE KEY plans_message (message_id),
    CONSTRAINT plans_message_fk FOREIGN KEY (message_id) REFERENCES messages (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS plan_steps (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    plan_id BIGINT NOT NULL,
    -- The revision that it came with, and its place in that.
    revision INT NOT NULL,
    position INT NOT NULL,
    instruction TEXT NOT NULL,
    expected TEXT NOT NULL,
    -- pending, executing, completed or failed.
    status VARCHAR(16) NOT NULL,
    -- The attempt that it is in, or was in last, from 1, and why that was judged as it was.
    attempt INT NOT NULL,
    reason TEXT NULL,
    -- Bytes of the answer's text, and its calls, before the first attempt.
    text_offset BIGINT NULL,
    calls_before BIGINT NULL,
    -- Bytes of the text before the last attempt, and the number of the first model call of that.
    attempt_offset BIGINT NULL,
    attempt_step INT NULL,
    -- Bytes of the text at its end, and the number of the next model call.
    end_offset BIGINT NULL,
    end_step INT NULL,
    started_at DATETIME(6) NULL,
    ended_at DATETIME(6) NULL,
    UNIQUE KEY plan_steps_place (plan_id, revision, position),
    CONSTRAINT plan_steps_plan_fk FOREIGN KEY (plan_id) REFERENCES plans (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
