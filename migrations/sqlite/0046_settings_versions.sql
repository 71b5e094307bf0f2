-- Version of the settings after the change, from which the order of the changes follows: the nodes of a cluster do not
-- assign keys in the order of commits. NULL for a change that an earlier version of the program stored during a rolling
-- upgrade; its ID counts instead.
ALTER TABLE settings_history ADD COLUMN version INTEGER NULL;
UPDATE settings_history SET version = id;
