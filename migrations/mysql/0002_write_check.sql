-- One row that is written to find out whether the database can be. Holds the number of the seconds in which that was.

CREATE TABLE IF NOT EXISTS write_check (
    id BIGINT NOT NULL PRIMARY KEY,
    period BIGINT NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

INSERT IGNORE INTO write_check (id, period) VALUES (1, 0);
