-- Which tools are turned off in a conversation: their names as a JSON list; null where none is.

ALTER TABLE conversations ADD COLUMN disabled_tools TEXT NULL;
