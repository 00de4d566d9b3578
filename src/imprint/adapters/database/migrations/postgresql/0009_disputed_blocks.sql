-- Blocks whose logs nodes leave out, or contradict themselves or each other about.
CREATE TABLE disputed_blocks (
    chain_id BIGINT NOT NULL,
    block_number BIGINT NOT NULL,
    block_hash TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (chain_id, block_number, block_hash)
);
