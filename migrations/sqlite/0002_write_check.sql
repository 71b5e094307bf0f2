-- One row that is written to find out whether the database can be. Holds the number of the seconds in which that was.

CREATE TABLE write_check (
    id INTEGER PRIMARY KEY,
    period INTEGER NOT NULL
);

INSERT INTO write_check (id, period) VALUES (1, 0);
