-- Whether a link also shows the files of its messages.
ALTER TABLE shares ADD COLUMN has_files INTEGER NOT NULL DEFAULT 0;
