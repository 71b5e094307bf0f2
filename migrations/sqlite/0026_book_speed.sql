-- The indexes along which the book goes have whatever a filter may ask for besides, so that calls that are not wanted are passed
-- over without reading them. Those that are written when a call begins, by its tool and its server, stay as small as they were.
DROP INDEX tool_calls_by_status;
DROP INDEX tool_calls_by_user;
DROP INDEX tool_calls_by_model;
DROP INDEX tool_calls_by_duration;
CREATE INDEX tool_calls_by_status ON tool_calls
    (status, started_at, id, duration_ms, tool_name, user_id, conversation_id, model);
CREATE INDEX tool_calls_by_user ON tool_calls
    (user_id, started_at, id, duration_ms, tool_name, status, conversation_id, model);
CREATE INDEX tool_calls_by_model ON tool_calls
    (model, started_at, id, duration_ms, tool_name, status, user_id, conversation_id);
CREATE INDEX tool_calls_by_duration ON tool_calls
    (duration_ms, id, started_at, tool_name, status, user_id, conversation_id, model);

-- What was counted in the hours of a day, once all of them are counted. `counted_days` says of which days.
CREATE TABLE counted_days (
    day TEXT NOT NULL PRIMARY KEY,
    counted_at TEXT NOT NULL
);
CREATE TABLE tool_call_days (
    day TEXT NOT NULL,
    tool_name TEXT NOT NULL,
    status TEXT NOT NULL,
    calls INTEGER NOT NULL,
    PRIMARY KEY (day, tool_name, status)
) WITHOUT ROWID;
CREATE TABLE tool_duration_days (
    day TEXT NOT NULL,
    tool_name TEXT NOT NULL,
    up_to_ms INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    PRIMARY KEY (day, tool_name, up_to_ms)
) WITHOUT ROWID;
CREATE TABLE model_call_days (
    day TEXT NOT NULL,
    user_id INTEGER NOT NULL,
    model TEXT NOT NULL,
    calls INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost_nanos INTEGER NOT NULL,
    PRIMARY KEY (day, user_id, model)
) WITHOUT ROWID;
CREATE TABLE purpose_call_days (
    day TEXT NOT NULL,
    purpose TEXT NOT NULL,
    calls INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost_nanos INTEGER NOT NULL,
    PRIMARY KEY (day, purpose)
) WITHOUT ROWID;
