-- What a person tells every model, and when a person deleted the account, which nobody takes back.

ALTER TABLE users ADD COLUMN instructions TEXT NULL;
ALTER TABLE users ADD COLUMN deleted_at TEXT NULL;
