-- The whole catalog. Times are microseconds since 1970, UTC. Post ids are decimal texts, because
-- they reach up to 2^256. Hashtags are a JSON list, so that a file is read with one row. Texts are
-- ordered by their bytes: no language is meant, and no change of the system's locales may matter.

-- Where files stand in lists. A sequence locks nobody; that it leaves gaps does no harm.
CREATE SEQUENCE positions;

CREATE TABLE counters (
    name TEXT COLLATE "C" PRIMARY KEY,
    value BIGINT NOT NULL
);

INSERT INTO counters (name, value) VALUES ('heartbeat', 0);

-- The highest number that an owner's names have used.
CREATE TABLE owners (
    owner TEXT COLLATE "C" PRIMARY KEY,
    last_number BIGINT NOT NULL
);

CREATE TABLE file_groups (
    id TEXT COLLATE "C" PRIMARY KEY,
    owner TEXT COLLATE "C" NOT NULL,
    hashtags TEXT COLLATE "C" NOT NULL,
    thumbnail_cid TEXT COLLATE "C",
    created_at BIGINT NOT NULL
);

CREATE INDEX file_groups_by_thumbnail ON file_groups (thumbnail_cid)
    WHERE thumbnail_cid IS NOT NULL;

-- One row for each version. Only 'pending' and 'onchain' are ever shown. wrapped_key is the key of
-- an encrypted document, itself encrypted; a document that is stored as it is has none.
CREATE TABLE files (
    id TEXT COLLATE "C" PRIMARY KEY,
    group_id TEXT COLLATE "C" NOT NULL REFERENCES file_groups (id),
    owner TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    cid TEXT COLLATE "C" NOT NULL,
    size BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    state TEXT COLLATE "C" NOT NULL
        CHECK (state IN ('pending', 'onchain', 'superseded', 'deleted')),
    position BIGINT NOT NULL,
    post_id TEXT COLLATE "C",
    published_at BIGINT,
    tx_hash TEXT COLLATE "C",
    wrapped_key BYTEA,
    CHECK ((state = 'onchain') = (post_id IS NOT NULL)),
    CHECK ((state = 'onchain') = (published_at IS NOT NULL))
);

CREATE UNIQUE INDEX files_by_name ON files (name);
CREATE UNIQUE INDEX files_by_cid ON files (cid);
CREATE UNIQUE INDEX files_by_position ON files (position);
CREATE UNIQUE INDEX files_by_post ON files (post_id) WHERE post_id IS NOT NULL;
CREATE UNIQUE INDEX files_live_in_group ON files (group_id) WHERE state IN ('pending', 'onchain');
CREATE INDEX files_by_group ON files (group_id);
CREATE INDEX files_posts ON files (position) WHERE state = 'onchain';
CREATE INDEX files_live ON files (position) WHERE state IN ('pending', 'onchain');
CREATE INDEX files_drafts ON files (owner, position) WHERE state = 'pending';

-- The hashtags of live files, once more, in the order of lists; a position names its file.
CREATE TABLE file_tags (
    tag TEXT COLLATE "C" NOT NULL,
    position BIGINT NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tag, position)
);

CREATE INDEX file_tags_by_state ON file_tags (tag, state, position);

-- Spent nonces of signed writes, kept for ever. file_id is what the write produced.
CREATE TABLE nonces (
    signer TEXT COLLATE "C" NOT NULL,
    nonce TEXT COLLATE "C" NOT NULL,
    action TEXT COLLATE "C" NOT NULL,
    file_id TEXT COLLATE "C",
    spent_at BIGINT NOT NULL,
    PRIMARY KEY (signer, nonce)
);

CREATE TABLE login_nonces (
    address TEXT COLLATE "C" NOT NULL,
    nonce TEXT COLLATE "C" NOT NULL,
    spent_at BIGINT NOT NULL,
    PRIMARY KEY (address, nonce)
);

CREATE INDEX login_nonces_by_time ON login_nonces (spent_at);

-- How far ahead a key has spoken for its rate.
CREATE TABLE paces (
    key TEXT COLLATE "C" PRIMARY KEY,
    until BIGINT NOT NULL
);

CREATE INDEX paces_by_time ON paces (until);

-- Documents about to be stored.
CREATE TABLE intents (
    id TEXT COLLATE "C" PRIMARY KEY,
    signer TEXT COLLATE "C" NOT NULL,
    nonce TEXT COLLATE "C" NOT NULL,
    action TEXT COLLATE "C" NOT NULL,
    cid TEXT COLLATE "C" NOT NULL,
    network TEXT COLLATE "C" NOT NULL,
    number BIGINT,
    lease_until BIGINT NOT NULL
);

CREATE INDEX intents_by_document ON intents (cid, network, lease_until);
CREATE INDEX intents_by_lease ON intents (lease_until);

-- Documents that something let go of, and those of them that are condemned.
CREATE TABLE detached (
    cid TEXT COLLATE "C" NOT NULL,
    network TEXT COLLATE "C" NOT NULL,
    detached_at BIGINT NOT NULL,
    condemned SMALLINT NOT NULL DEFAULT 0,
    PRIMARY KEY (cid, network)
);

CREATE INDEX detached_by_time ON detached (condemned, detached_at, cid, network);

-- Every PostCreated that was seen. file_id is the file that it holds onchain; an event whose block
-- left the chain has canonical = 0; one that the follower has read itself has confirmed = 1.
CREATE TABLE events (
    chain_id BIGINT NOT NULL,
    block_hash TEXT COLLATE "C" NOT NULL,
    log_index BIGINT NOT NULL,
    block_number BIGINT,
    tx_hash TEXT COLLATE "C",
    post_id TEXT COLLATE "C" NOT NULL,
    author TEXT COLLATE "C" NOT NULL,
    spelled_cid TEXT COLLATE "C" NOT NULL,
    cid TEXT COLLATE "C",
    status TEXT COLLATE "C" NOT NULL,
    canonical SMALLINT NOT NULL DEFAULT 1,
    confirmed SMALLINT NOT NULL DEFAULT 0,
    file_id TEXT COLLATE "C",
    source TEXT COLLATE "C",
    seen_at BIGINT NOT NULL,
    PRIMARY KEY (chain_id, block_hash, log_index)
);

CREATE INDEX events_by_cid ON events (cid, author, block_number NULLS FIRST, log_index)
    WHERE canonical = 1;
CREATE INDEX events_by_post ON events (post_id, block_number NULLS FIRST) WHERE canonical = 1;
CREATE INDEX events_by_height ON events (chain_id, block_number, block_hash) WHERE canonical = 1;
CREATE INDEX events_unconfirmed ON events (chain_id, seen_at)
    WHERE canonical = 1 AND confirmed = 0;
CREATE INDEX events_by_status ON events (status, seen_at) WHERE canonical = 1;
CREATE UNIQUE INDEX events_by_file ON events (file_id) WHERE file_id IS NOT NULL;

-- Logs of ours that could not be decoded. identity is the place, or a digest where none is known.
CREATE TABLE dead_letters (
    identity TEXT COLLATE "C" PRIMARY KEY,
    reason TEXT COLLATE "C" NOT NULL,
    payload TEXT COLLATE "C" NOT NULL,
    source TEXT COLLATE "C",
    seen_at BIGINT NOT NULL
);

CREATE INDEX dead_letters_by_time ON dead_letters (seen_at);

CREATE TABLE deliveries (
    provider TEXT COLLATE "C" NOT NULL,
    digest TEXT COLLATE "C" NOT NULL,
    nonce TEXT COLLATE "C" NOT NULL,
    received_at BIGINT NOT NULL,
    PRIMARY KEY (provider, digest)
);

CREATE UNIQUE INDEX deliveries_by_nonce ON deliveries (provider, nonce) WHERE nonce <> '';
CREATE INDEX deliveries_by_time ON deliveries (received_at);

-- What the follower remembers of a chain: the block where it stands, and one that is final.
CREATE TABLE chain_marks (
    chain_id BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('stand', 'final')),
    block_number BIGINT NOT NULL,
    block_hash TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (chain_id, kind)
);

-- Work that one process at a time may do.
CREATE TABLE leases (
    name TEXT COLLATE "C" PRIMARY KEY,
    holder TEXT COLLATE "C" NOT NULL,
    held_until BIGINT NOT NULL
);
