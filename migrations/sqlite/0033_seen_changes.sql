-- The last entry of `audit_log` whose notice the user has acknowledged. Entries from before this column are not announced.
ALTER TABLE users ADD COLUMN seen_look_id INTEGER NOT NULL DEFAULT 0;
UPDATE users SET seen_look_id = (SELECT COALESCE(MAX(id), 0) FROM audit_log);
