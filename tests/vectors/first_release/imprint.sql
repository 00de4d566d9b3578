BEGIN TRANSACTION;
CREATE TABLE chain_marks (
    chain_id INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('stand', 'final')),
    block_number INTEGER NOT NULL,
    block_hash TEXT NOT NULL,
    PRIMARY KEY (chain_id, kind)
) STRICT, WITHOUT ROWID;
CREATE TABLE counters (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "counters" VALUES('heartbeat',0);
INSERT INTO "counters" VALUES('position',6);
CREATE TABLE dead_letters (
    identity TEXT PRIMARY KEY,
    reason TEXT NOT NULL,
    payload TEXT NOT NULL,
    source TEXT,
    seen_at INTEGER NOT NULL
) STRICT;
CREATE TABLE deliveries (
    provider TEXT NOT NULL,
    digest TEXT NOT NULL,
    nonce TEXT NOT NULL,
    received_at INTEGER NOT NULL,
    PRIMARY KEY (provider, digest)
) STRICT, WITHOUT ROWID;
CREATE TABLE detached (
    cid TEXT NOT NULL,
    network TEXT NOT NULL,
    detached_at INTEGER NOT NULL,
    condemned INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (cid, network)
) STRICT, WITHOUT ROWID;
INSERT INTO "detached" VALUES('bafkreifacbg2dz7hm5rgqnggi7kn2naj2zlwiq5rzn5fqhiqsbgvg4gnsi','private',1794964933465217,0);
INSERT INTO "detached" VALUES('bafkreig2jj3s3fucsgknbvh2tr2acknl3iizla4gmnck5xxuvzilkizj5a','private',1794964933465217,0);
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
INSERT INTO "events" VALUES(31337,'0xf269ee1873832907877c8ad066cd9ad21596f27c3d3575f127260f17076fa8af',0,2,'0xd39c100a322beabffb302a54b6aba34dc2a198867f933415565c916d0d733942','1','0x70997970c51812dc3a010c7d01b50e0d17dc79c8','bafkreieid7zpyn56uw77chsbovakrzwdsxwbk7bfy74amxrsupmvmyjkha','bafkreieid7zpyn56uw77chsbovakrzwdsxwbk7bfy74amxrsupmvmyjkha','onchain',1,0,'01a1ec3f-4dc1-710c-b8f4-ce871c4267aa',NULL,1794964933465217);
CREATE TABLE file_groups (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    hashtags TEXT NOT NULL,
    thumbnail_cid TEXT,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "file_groups" VALUES('01a1ec3f-4d47-731f-a3d5-86ac198779be','0x70997970c51812dc3a010c7d01b50e0d17dc79c8','[]',NULL,1794964933465217);
INSERT INTO "file_groups" VALUES('01a1ec3f-4d7a-79dc-8e87-a2f16c71d2ad','0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc','[]',NULL,1794964933465217);
INSERT INTO "file_groups" VALUES('01a1ec3f-4d9c-7b2f-9e82-051408ef84b9','0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc','[]',NULL,1794964933465217);
INSERT INTO "file_groups" VALUES('01a1ec3f-4db0-7f98-834d-75f494266720','0x70997970c51812dc3a010c7d01b50e0d17dc79c8','["ink", "paper"]','bafkreiazftvxups6chfjmfuu4v3ycfx4zuum2svxatnfmtbbazyevtfqhe',1794964933465217);
CREATE TABLE file_tags (
    tag TEXT NOT NULL,
    position INTEGER NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (tag, position)
) STRICT, WITHOUT ROWID;
INSERT INTO "file_tags" VALUES('ink',6,'onchain');
INSERT INTO "file_tags" VALUES('paper',6,'onchain');
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
INSERT INTO "files" VALUES(1,'01a1ec3f-4d57-701d-8697-a328d81d3bcf','01a1ec3f-4d47-731f-a3d5-86ac198779be','0x70997970c51812dc3a010c7d01b50e0d17dc79c8','0x70997970c51812dc3a010c7d01b50e0d17dc79c8_1794964933465217','bafkreig2jj3s3fucsgknbvh2tr2acknl3iizla4gmnck5xxuvzilkizj5a',150,1794964933465217,'superseded',NULL,NULL,NULL,NULL);
INSERT INTO "files" VALUES(2,'01a1ec3f-4d6d-7cda-b4f9-97c8aa902c2d','01a1ec3f-4d47-731f-a3d5-86ac198779be','0x70997970c51812dc3a010c7d01b50e0d17dc79c8','0x70997970c51812dc3a010c7d01b50e0d17dc79c8_1794964933465218','bafkreideb675m3ftbbwrzs5knc4hh5wzaddckvsunovc7vfjtgz4opf4ja',151,1794964933465217,'pending',NULL,NULL,NULL,NULL);
INSERT INTO "files" VALUES(3,'01a1ec3f-4d84-7f51-95a4-f70fd36c94a6','01a1ec3f-4d7a-79dc-8e87-a2f16c71d2ad','0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc','0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc_1794964933465217','bafkreiah22byspzkt4pkfxws4c6as2qszpfhmrmqb4yam2jhxsnzj4piui',140,1794964933465217,'pending',NULL,NULL,NULL,NULL);
INSERT INTO "files" VALUES(4,'01a1ec3f-4d9e-78b9-8043-648059383936','01a1ec3f-4d9c-7b2f-9e82-051408ef84b9','0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc','0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc_1794964933465218','bafkreifacbg2dz7hm5rgqnggi7kn2naj2zlwiq5rzn5fqhiqsbgvg4gnsi',139,1794964933465217,'deleted',NULL,NULL,NULL,NULL);
INSERT INTO "files" VALUES(6,'01a1ec3f-4dc1-710c-b8f4-ce871c4267aa','01a1ec3f-4db0-7f98-834d-75f494266720','0x70997970c51812dc3a010c7d01b50e0d17dc79c8','0x70997970c51812dc3a010c7d01b50e0d17dc79c8_1794964933465219','bafkreieid7zpyn56uw77chsbovakrzwdsxwbk7bfy74amxrsupmvmyjkha',141,1794964933465217,'onchain','1',1794964933465217,'0xd39c100a322beabffb302a54b6aba34dc2a198867f933415565c916d0d733942',NULL);
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
CREATE TABLE leases (
    name TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    held_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE login_nonces (
    address TEXT NOT NULL,
    nonce TEXT NOT NULL,
    spent_at INTEGER NOT NULL,
    PRIMARY KEY (address, nonce)
) STRICT, WITHOUT ROWID;
CREATE TABLE nonces (
    signer TEXT NOT NULL,
    nonce TEXT NOT NULL,
    action TEXT NOT NULL,
    file_id TEXT,
    spent_at INTEGER NOT NULL,
    PRIMARY KEY (signer, nonce)
) STRICT, WITHOUT ROWID;
INSERT INTO "nonces" VALUES('0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc','0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc_40c5d4fdb7bdc565','create','01a1ec3f-4d84-7f51-95a4-f70fd36c94a6',1794964933465217);
INSERT INTO "nonces" VALUES('0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc','0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc_b887c22e7671adae','create','01a1ec3f-4d9e-78b9-8043-648059383936',1794964933465217);
INSERT INTO "nonces" VALUES('0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc','0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc_fcfcd774a10f019a','delete',NULL,1794964933465217);
INSERT INTO "nonces" VALUES('0x70997970c51812dc3a010c7d01b50e0d17dc79c8','0x70997970c51812dc3a010c7d01b50e0d17dc79c8_0d31b0fc3995ffb1','publish','01a1ec3f-4dc1-710c-b8f4-ce871c4267aa',1794964933465217);
INSERT INTO "nonces" VALUES('0x70997970c51812dc3a010c7d01b50e0d17dc79c8','0x70997970c51812dc3a010c7d01b50e0d17dc79c8_2fe378c82acdf41f','update','01a1ec3f-4d6d-7cda-b4f9-97c8aa902c2d',1794964933465217);
INSERT INTO "nonces" VALUES('0x70997970c51812dc3a010c7d01b50e0d17dc79c8','0x70997970c51812dc3a010c7d01b50e0d17dc79c8_4be58c182d64509d','create','01a1ec3f-4d57-701d-8697-a328d81d3bcf',1794964933465217);
INSERT INTO "nonces" VALUES('0x70997970c51812dc3a010c7d01b50e0d17dc79c8','0x70997970c51812dc3a010c7d01b50e0d17dc79c8_5be6fcdb63f6a259','create','01a1ec3f-4dc1-710c-b8f4-ce871c4267aa',1794964933465217);
CREATE TABLE owners (
    owner TEXT PRIMARY KEY,
    last_number INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "owners" VALUES('0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc',1794964933465218);
INSERT INTO "owners" VALUES('0x70997970c51812dc3a010c7d01b50e0d17dc79c8',1794964933465219);
CREATE TABLE paces (
    key TEXT PRIMARY KEY,
    until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE schema_migrations (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL
) STRICT;
INSERT INTO "schema_migrations" VALUES(1,'catalog');
CREATE TABLE tags (
    tag TEXT PRIMARY KEY,
    posts INTEGER NOT NULL,
    drafts INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "tags" VALUES('ink',1,0);
INSERT INTO "tags" VALUES('paper',1,0);
CREATE INDEX file_groups_by_thumbnail ON file_groups (thumbnail_cid)
    WHERE thumbnail_cid IS NOT NULL;
CREATE UNIQUE INDEX files_by_id ON files (id);
CREATE UNIQUE INDEX files_by_name ON files (name);
CREATE UNIQUE INDEX files_by_cid ON files (cid);
CREATE UNIQUE INDEX files_by_post ON files (post_id) WHERE post_id IS NOT NULL;
CREATE UNIQUE INDEX files_live_in_group ON files (group_id) WHERE state IN ('pending', 'onchain');
CREATE INDEX files_by_group ON files (group_id);
CREATE INDEX files_posts ON files (position) WHERE state = 'onchain';
CREATE INDEX files_live ON files (position) WHERE state IN ('pending', 'onchain');
CREATE INDEX files_drafts ON files (owner, position) WHERE state = 'pending';
CREATE INDEX file_tags_by_state ON file_tags (tag, state, position);
CREATE INDEX login_nonces_by_time ON login_nonces (spent_at);
CREATE INDEX paces_by_time ON paces (until);
CREATE INDEX intents_by_document ON intents (cid, network, lease_until);
CREATE INDEX intents_by_lease ON intents (lease_until);
CREATE INDEX detached_by_time ON detached (condemned, detached_at, cid, network);
CREATE INDEX events_by_cid ON events (cid, author, block_number, log_index) WHERE canonical = 1;
CREATE INDEX events_by_post ON events (post_id, block_number) WHERE canonical = 1;
CREATE INDEX events_by_height ON events (chain_id, block_number, block_hash) WHERE canonical = 1;
CREATE INDEX events_unconfirmed ON events (chain_id, seen_at)
    WHERE canonical = 1 AND confirmed = 0;
CREATE INDEX events_by_status ON events (status, seen_at) WHERE canonical = 1;
CREATE UNIQUE INDEX events_by_file ON events (file_id) WHERE file_id IS NOT NULL;
CREATE INDEX dead_letters_by_time ON dead_letters (seen_at);
CREATE UNIQUE INDEX deliveries_by_nonce ON deliveries (provider, nonce) WHERE nonce <> '';
CREATE INDEX deliveries_by_time ON deliveries (received_at);
COMMIT;
