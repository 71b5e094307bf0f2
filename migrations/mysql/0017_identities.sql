-- Who somebody is at an issuer of OpenID Connect, and to whose account that person signs in here.

CREATE TABLE IF NOT EXISTS identities (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    user_id BIGINT NOT NULL,
    issuer VARCHAR(255) NOT NULL,
    -- The issuer's name for the person, which never becomes another's. Nothing else says who it is.
    subject VARCHAR(255) NOT NULL,
    -- What the issuer called the person last, so that people know it again. Nothing is decided by it.
    label VARCHAR(200) NOT NULL,
    created_at DATETIME(6) NOT NULL,
    last_used_at DATETIME(6) NULL,
    UNIQUE KEY identities_subject (issuer, subject),
    KEY identities_user (user_id),
    CONSTRAINT identities_user_fk FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
