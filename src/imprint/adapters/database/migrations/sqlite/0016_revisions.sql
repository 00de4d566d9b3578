-- Corrected versions that authors add beside the documents of their posts. document is the cid of
-- the document on the chain; salt is the JSON of the typed data that the owner signed.
CREATE TABLE revisions (
    id TEXT NOT NULL,
    document TEXT NOT NULL,
    number INTEGER NOT NULL,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    cid TEXT NOT NULL,
    size INTEGER NOT NULL,
    note TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    salt TEXT NOT NULL,
    signature TEXT NOT NULL,
    wrapped_key BLOB,
    checksum INTEGER,
    PRIMARY KEY (document, number)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX revisions_by_id ON revisions (id);
CREATE UNIQUE INDEX revisions_by_cid ON revisions (cid);
CREATE INDEX revisions_by_owner ON revisions (owner, id);
