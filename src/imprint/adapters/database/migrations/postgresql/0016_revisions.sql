-- Corrected versions that authors add beside the documents of their posts. document is the cid of
-- the document on the chain; salt is the JSON of the typed data that the owner signed.
CREATE TABLE revisions (
    id TEXT COLLATE "C" NOT NULL,
    document TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    owner TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    cid TEXT COLLATE "C" NOT NULL,
    size BIGINT NOT NULL,
    note TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    salt TEXT COLLATE "C" NOT NULL,
    signature TEXT COLLATE "C" NOT NULL,
    wrapped_key BYTEA,
    checksum BIGINT,
    PRIMARY KEY (document, number)
);

CREATE UNIQUE INDEX revisions_by_id ON revisions (id);
CREATE UNIQUE INDEX revisions_by_cid ON revisions (cid);
CREATE INDEX revisions_by_owner ON revisions (owner, id);
