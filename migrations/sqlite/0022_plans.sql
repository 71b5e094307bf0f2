-- How an answer is made, where it is by a plan; and the plans, with how far their steps are.
ALTER TABLE messages ADD COLUMN mode TEXT NULL;

CREATE TABLE plans (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    -- The answer that it is for.
    message_id INTEGER NOT NULL UNIQUE,
    -- One more each time it was planned anew, and why the last time.
    revision INTEGER NOT NULL,
    reason TEXT NULL,
    success_criteria TEXT NOT NULL,
    -- Bytes of the answer's text before it.
    text_offset INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    FOREIGN KEY (message_id) REFERENCES messages (id) ON DELETE CASCADE
);

CREATE TABLE plan_steps (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    plan_id INTEGER NOT NULL,
    -- The revision that it came with, and its place in that.
    revision INTEGER NOT NULL,
    position INTEGER NOT NULL,
    instruction TEXT NOT NULL,
    expected TEXT NOT NULL,
    -- pending, executing, completed or failed.
    status TEXT NOT NULL,
    -- The attempt that it is in, or was in last, from 1, and why that was judged as it was.
    attempt INTEGER NOT NULL,
    reason TEXT NULL,
    -- Bytes of the answer's text, and its calls, before the first attempt.
    text_offset INTEGER NULL,
    calls_before INTEGER NULL,
    -- Bytes of the text before the last attempt, and the number of the first model call of that.
    attempt_offset INTEGER NULL,
    attempt_step INTEGER NULL,
    -- Bytes of the text at its end, and the number of the next model call.
    end_offset INTEGER NULL,
    end_step INTEGER NULL,
    started_at TEXT NULL,
    ended_at TEXT NULL,
    UNIQUE (plan_id, revision, position),
    FOREIGN KEY (plan_id) REFERENCES plans (id) ON DELETE CASCADE
);
