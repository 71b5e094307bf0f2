-- The indexes along which the book goes have whatever a filter may ask for besides, so that calls that are not wanted are passed
-- over without reading them. Those that are written when a call begins, by its tool and its server, stay as small as they were.
SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.STATISTICS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'tool_calls' AND INDEX_NAME = 'tool_calls_by_duration'
    AND COLUMN_NAME = 'model');

SET @change = IF(@is_missing, 'ALTER TABLE tool_calls
    DROP KEY tool_calls_by_status,
    DROP KEY tool_calls_by_user,
    DROP KEY tool_calls_by_model,
    DROP KEY tool_calls_by_duration,
    ADD KEY tool_calls_by_status (status, started_at, id, duration_ms, tool_name, user_id, conversation_id, model),
    ADD KEY tool_calls_by_user (user_id, started_at, id, duration_ms, tool_name, status, conversation_id, model),
    ADD KEY tool_calls_by_model (model, started_at, id, duration_ms, tool_name, status, user_id, conversation_id),
    ADD KEY tool_calls_by_duration (duration_ms, id, started_at, tool_name, status, user_id, conversation_id, model)', 'DO 0');

PREPARE change_tool_calls FROM @change;

EXECUTE change_tool_calls;

DEALLOCATE PREPARE change_tool_calls;

-- What was counted in the hours of a day, once all of them are counted. `counted_days` says of which days.
CREATE TABLE IF NOT EXISTS counted_days (
    day DATETIME(6) NOT NULL PRIMARY KEY,
    counted_at DATETIME(6) NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS tool_call_days (
    day DATETIME(6) NOT NULL,
    tool_name VARCHAR(100) NOT NULL,
    status VARCHAR(32) NOT NULL,
    calls BIGINT NOT NULL,
    PRIMARY KEY (day, tool_name, status)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS tool_duration_days (
    day DATETIME(6) NOT NULL,
    tool_name VARCHAR(100) NOT NULL,
    up_to_ms BIGINT NOT NULL,
    calls BIGINT NOT NULL,
    PRIMARY KEY (day, tool_name, up_to_ms)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS model_call_days (
    day DATETIME(6) NOT NULL,
    user_id BIGINT NOT NULL,
    model VARCHAR(190) NOT NULL,
    calls BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cost_nanos BIGINT NOT NULL,
    PRIMARY KEY (day, user_id, model)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS purpose_call_days (
    day DATETIME(6) NOT NULL,
    purpose VARCHAR(32) NOT NULL,
    calls BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cost_nanos BIGINT NOT NULL,
    PRIMARY KEY (day, purpose)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
