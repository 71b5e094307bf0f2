-- Whether a file has more text than its pages: the text or the number of pages exceeded the limit.
ALTER TABLE files ADD COLUMN truncated BOOLEAN NOT NULL DEFAULT FALSE;
