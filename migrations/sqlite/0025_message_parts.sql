-- The parts of what a person sent, as JSON, where there are several; one part is the content.
ALTER TABLE messages ADD COLUMN parts TEXT NULL;
