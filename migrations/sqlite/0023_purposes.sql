-- What models took in each counted hour, by what they were asked for. An hour that a server of the version before counts has
-- no rows here.
CREATE TABLE purpose_call_hours (
    hour TEXT NOT NULL,
    purpose TEXT NOT NULL,
    calls INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost_nanos INTEGER NOT NULL,
    PRIMARY KEY (hour, purpose)
);

-- Of the hours that are counted already, as far as their calls are there. Times are texts, which begin with their hour.
INSERT INTO purpose_call_hours (hour, purpose, calls, input_tokens, output_tokens, cost_nanos)
SELECT h.hour, k.purpose, COUNT(*), SUM(k.input_tokens), SUM(k.output_tokens), COALESCE(SUM(k.cost_nanos), 0)
FROM counted_hours h
JOIN model_calls k ON k.created_at >= SUBSTR(h.hour, 1, 13) AND k.created_at < SUBSTR(h.hour, 1, 13) || ':~'
GROUP BY h.hour, k.purpose;

-- Single questions of programs are counted, too.
CREATE INDEX plain_calls_by_time ON plain_calls (created_at);
