-- Who somebody is at an issuer of OpenID Connect, and to whose account that person signs in here.

CREATE TABLE identities (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id INTEGER NOT NULL,
    issuer TEXT NOT NULL,
    -- The issuer's name for the person, which never becomes another's. Nothing else says who it is.
    subject TEXT NOT NULL,
    -- What the issuer called the person last, so that people know it again. Nothing is decided by it.
    label TEXT NOT NULL,
    created_at TEXT NOT NULL,
    last_used_at TEXT NULL,
    FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX identities_subject ON identities (issuer, subject);
CREATE INDEX identities_user ON identities (user_id);
