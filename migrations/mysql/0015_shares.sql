-- Conversations that are shared: a copy of each as it was, which its link shows to whoever has that.

CREATE TABLE IF NOT EXISTS shares (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    conversation_id BIGINT NOT NULL,
    -- The random part of the link. It is kept as it is, since who reads this row has what it leads to.
    token CHAR(36) NOT NULL,
    title VARCHAR(200) NOT NULL,
    has_tool_calls BOOLEAN NOT NULL,
    -- The messages as JSON, as the API has them.
    messages MEDIUMTEXT NOT NULL,
    created_at DATETIME(6) NOT NULL,
    UNIQUE KEY shares_token (token),
    KEY shares_conversation (conversation_id),
    CONSTRAINT shares_conversation_fk FOREIGN KEY (conversation_id) REFERENCES conversations (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
