-- Blocks whose logs nodes leave out, or contradict themselves or each other about.
CREATE TABLE disputed_blocks (
    chain_id INTEGER NOT NULL,
    block_number INTEGER NOT NULL,
    block_hash TEXT NOT NULL,
    PRIMARY KEY (chain_id, block_number, block_hash)
) STRICT, WITHOUT ROWID;
