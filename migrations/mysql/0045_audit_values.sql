-- The values before and after a change of settings, models, tool servers, groups or budgets, as JSON without secrets.
-- NULL before a creation, after a deletion, and for other actions.
SET @is_missing = (SELECT COUNT(*) = 0 FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'audit_log' AND COLUMN_NAME = 'after_value');

SET @change = IF(@is_missing, 'ALTER TABLE audit_log ADD COLUMN before_value MEDIUMTEXT NULL,
    ADD COLUMN after_value MEDIUMTEXT NULL', 'DO 0');

PREPARE change_audit_log_values FROM @change;

EXECUTE change_audit_log_values;

DEALLOCATE PREPARE change_audit_log_values;
