-- Sessions of readers that were ended before they expired. subject is the id of a session, or an
-- address whose sessions of an earlier generation are all ended. A row is removed when every session
-- that it is about has expired.
CREATE TABLE ended_sessions (
    subject TEXT COLLATE "C" PRIMARY KEY,
    generation BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX ended_sessions_by_time ON ended_sessions (expires_at);

-- Keys that may sign creates and updates for a wallet until they expire. A session that is revoked
-- is removed. public_key is an uncompressed point of P-256; actions are separated by commas.
CREATE TABLE writing_sessions (
    id TEXT COLLATE "C" PRIMARY KEY,
    wallet TEXT COLLATE "C" NOT NULL,
    public_key BYTEA NOT NULL,
    actions TEXT COLLATE "C" NOT NULL,
    not_before BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE INDEX writing_sessions_by_wallet ON writing_sessions (wallet, created_at);
CREATE INDEX writing_sessions_by_time ON writing_sessions (expires_at);
