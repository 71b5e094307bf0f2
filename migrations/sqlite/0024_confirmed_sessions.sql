-- When whoever uses a session last proved to be its owner, to do what a session alone may not.
ALTER TABLE sessions ADD COLUMN confirmed_at TEXT NULL;
