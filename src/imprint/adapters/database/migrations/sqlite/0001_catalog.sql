-- The whole catalog. Times are microseconds since 1970, UTC. Post ids are decimal texts, because
-- they reach up to 2^256. Hashtags are a JSON list, so that a file is read with one row.

CREATE TABLE counters (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO counters (name, value) VALUES ('position', 0), ('heartbeat', 0);

-- The highest number that an owner's names have used.
CREATE TABLE owners (
    owner TEXT PRIMARY KEY,
    last_number INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE file_groups (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    hashtags TEXT NOT NULL,
    thumbnail_cid TEXT,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX file_groups_by_thumbnail ON file_groups (thumbnail_cid)
    WHERE thumbnail_cid IS NOT NULL;

-- One row for each version. Only 'pending' and 'onchain' are ever shown. wrapped_key is the key of
-- an encrypted document, itself encrypted; a document that is stored as it is has none. Rows are
-- stored by their position: lists find one by it without an index between.
CREATE TABLE files (
    position INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    group_id TEXT NOT NULL REFERENCES file_groups (id),
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    cid TEXT NOT NULL,
    size INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'onchain', 'superseded', 'deleted')),
    post_id TEXT,
    published_at INTEGER,
    tx_hash TEXT,
    wrapped_key BLOB,
    CHECK ((state = 'onchain') = (post_id IS NOT NULL)),
    CHECK ((state = 'onchain') = (published_at IS NOT NULL))
) STRICT;

CREATE UNIQUE INDEX files_by_id ON files (id);
CREATE UNIQUE INDEX files_by_name ON files (name);
CREATE UNIQUE INDEX files_by_cid ON files (cid);
CREATE UNIQUE INDEX files_by_post ON files (post_id) WHERE post_id IS NOT NULL;
CREATE UNIQUE INDEX files_live_in_group ON files (group_id) WHERE state IN ('pending', 'onchain');
CREATE INDEX files_by_group ON files (group_id);
CREATE INDEX files_posts ON files (position) WHERE state = 'onchain';
CREATE INDEX files_live ON files (position) WHERE state IN ('pending', 'onchain');
CREATE INDEX files_drafts ON files (owner, position) WHERE state = 'pending';

-- The hashtags of live files, once more, in the order of lists; a position names its file.
CREATE TABLE file_tags (
    tag TEXT NOT NULL,
    position INTEGER NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (tag, position)
) STRICT, WITHOUT ROWID;

CREATE INDEX file_tags_by_state ON file_tags (tag, state, position);

-- How many live files carry a tag, so that a list by several tags follows the rarest.
CREATE TABLE tags (
    tag TEXT PRIMARY KEY,
    posts INTEGER NOT NULL,
    drafts INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Spent nonces of signed writes, kept for ever. file_id is what the write produced.
CREATE TABLE nonces (
    signer TEXT NOT NULL,
    nonce TEXT NOT NULL,
    action TEXT NOT NULL,
    file_id TEXT,
    spent_at INTEGER NOT NULL,
    PRIMARY KEY (signer, nonce)
) STRICT, WITHOUT ROWID;

CREATE TABLE login_nonces (
    address TEXT NOT NULL,
    nonce TEXT NOT NULL,
    spent_at INTEGER NOT NULL,
    PRIMARY KEY (address, nonce)
) STRICT, WITHOUT ROWID;

CREATE INDEX login_nonces_by_time ON login_nonces (spent_at);

-- How far ahead a key has spoken for its rate.
CREATE TABLE paces (
    key TEXT PRIMARY KEY,
    until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX paces_by_time ON paces (until);

-- Documents about to be stored.
CREATE TABLE intents (
    id TEXT PRIMARY KEY,
    signer TEXT NOT NULL,
    nonce TEXT NOT NULL,
    action TEXT NOT NULL,
    cid TEXT NOT NULL,
    network TEXT NOT NULL,
    number INTEGER,
    lease_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX intents_by_document ON intents (cid, network, lease_until);
CREATE INDEX intents_by_lease ON intents (lease_until);

-- Documents that something let go of, and those of them that are condemned.
CREATE TABLE detached (
    cid TEXT NOT NULL,
    network TEXT NOT NULL,
    detached_at INTEGER NOT NULL,
    condemned INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (cid, network)
) STRICT, WITHOUT ROWID;

CREATE INDEX detached_by_time ON detached (condemned, detached_at, cid, network);

-- Every PostCreated that was seen. file_id is the file that it holds onchain; an event whose block
-- left the chain has canonical = 0; one that the follower has read itself has confirmed = 1.
CREATE TABLE events (
    chain_id INTEGER NOT NULL,
    block_hash TEXT NOT NULL,
    log_index INTEGER NOT NULL,
    block_number INTEGER,
    tx_hash TEXT,
    post_id TEXT NOT NULL,
    author TEXT NOT NULL,
    spelled_cid TEXT NOT NULL,
    cid TEXT,
    status TEXT NOT NULL,
    canonical INTEGER NOT NULL DEFAULT 1,
    confirmed INTEGER NOT NULL DEFAULT 0,
    file_id TEXT,
    source TEXT,
    seen_at INTEGER NOT NULL,
    PRIMARY KEY (chain_id, block_hash, log_index)
) STRICT;

CREATE INDEX events_by_cid ON events (cid, author, block_number, log_index) WHERE canonical = 1;
CREATE INDEX events_by_post ON events (post_id, block_number) WHERE canonical = 1;
CREATE INDEX events_by_height ON events (chain_id, block_number, block_hash) WHERE canonical = 1;
CREATE INDEX events_unconfirmed ON events (chain_id, seen_at)
    WHERE canonical = 1 AND confirmed = 0;
CREATE INDEX events_by_status ON events (status, seen_at) WHERE canonical = 1;
CREATE UNIQUE INDEX events_by_file ON events (file_id) WHERE file_id IS NOT NULL;

-- Logs of ours that could not be decoded. identity is the place, or a digest where none is known.
CREATE TABLE dead_letters (
    identity TEXT PRIMARY KEY,
    reason TEXT NOT NULL,
    payload TEXT NOT NULL,
    source TEXT,
    seen_at INTEGER NOT NULL
) STRICT;

CREATE INDEX dead_letters_by_time ON dead_letters (seen_at);

CREATE TABLE deliveries (
    provider TEXT NOT NULL,
    digest TEXT NOT NULL,
    nonce TEXT NOT NULL,
    received_at INTEGER NOT NULL,
    PRIMARY KEY (provider, digest)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX deliveries_by_nonce ON deliveries (provider, nonce) WHERE nonce <> '';
CREATE INDEX deliveries_by_time ON deliveries (received_at);

-- What the follower remembers of a chain: the block where it stands, and one that is final.
CREATE TABLE chain_marks (
    chain_id INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('stand', 'final')),
    block_number INTEGER NOT NULL,
    block_hash TEXT NOT NULL,
    PRIMARY KEY (chain_id, kind)
) STRICT, WITHOUT ROWID;

-- Work that one process at a time may do.
CREATE TABLE leases (
    name TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    held_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
