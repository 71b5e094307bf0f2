-- What models took in each counted hour, by what they were asked for. An hour that a server of the version before counts has
-- no rows here.
CREATE TABLE IF NOT EXISTS purpose_call_hours (
    hour DATETIME(6) NOT NULL,
    purpose VARCHAR(32) NOT NULL,
    calls BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cost_nanos BIGINT NOT NULL,
    PRIMARY KEY (hour, purpose)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- Of the hours that are counted already, as far as their calls are there.
INSERT IGNORE INTO purpose_call_hours (hour, purpose, calls, input_tokens, output_tokens, cost_nanos)
SELECT h.hour, CAST(k.purpose AS CHAR(32)), COUNT(*), SUM(k.input_tokens), SUM(k.output_tokens), COALESCE(SUM(k.cost_nanos), 0)
FROM counted_hours h
JOIN model_calls k ON k.created_at >= h.hour AND k.created_at < h.hour + INTERVAL 1 HOUR
GROUP BY h.hour, k.purpose;

-- Single questions of programs are counted, too.
SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.STATISTICS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'plain_calls' AND INDEX_NAME = 'plain_calls_by_time');

SET @change = IF(@is_missing, 'ALTER TABLE plain_calls ADD KEY plain_calls_by_time (created_at)', 'DO 0');

PREPARE change_plain_calls FROM @change;

EXECUTE change_plain_calls;

DEALLOCATE PREPARE change_plain_calls;
