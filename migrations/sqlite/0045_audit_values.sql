-- The values before and after a change of settings, models, tool servers, groups or budgets, as JSON without secrets.
-- NULL before a creation, after a deletion, and for other actions.
ALTER TABLE audit_log ADD COLUMN before_value TEXT NULL;
ALTER TABLE audit_log ADD COLUMN after_value TEXT NULL;
