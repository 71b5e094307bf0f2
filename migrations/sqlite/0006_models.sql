-- Which model of the catalog was chosen for a conversation (null: the default) and answered in a turn, by its name there;
-- and what a call of it cost, in billionths of the currency that the settings' prices are in.

ALTER TABLE conversations ADD COLUMN model TEXT NULL;
ALTER TABLE messages ADD COLUMN model TEXT NULL;
ALTER TABLE model_calls ADD COLUMN cost_nanos INTEGER NULL;
